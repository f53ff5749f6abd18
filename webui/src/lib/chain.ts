/** The hops of a marking chain, in order, with the first that is not as it must be. */
export interface ChainLike {
  dscp: number;
  priority?: number;
  class?: number;
  buffer?: number;
  lossless: boolean;
  verdict: "whole" | "broken" | "unknown";
  at?: string;
}
export type HopState = "ok" | "broken" | "unknown" | "after";
export interface Hop {
  name: (typeof names)[number];
  value: string | undefined;
  state: HopState;
}
const names = ["dscp", "priority", "class", "pfc", "buffer"] as const;

export function hopsOf(chain: ChainLike): Hop[] {
  const values: Record<(typeof names)[number], string | undefined> = {
    dscp: String(chain.dscp),
    priority: chain.priority?.toString(),
    class: chain.class?.toString(),
    pfc: chain.priority === undefined ? undefined : chain.lossless ? "on" : "off",
    buffer: chain.buffer?.toString(),
  };
  const stop = names.findIndex((name) => name === chain.at);
  return names.map((name, i) => {
    let state: HopState = "ok";
    if (chain.verdict !== "whole" && stop >= 0 && i === stop) state = chain.verdict;
    else if (chain.verdict !== "whole" && stop >= 0 && i > stop) state = "after";
    else if (values[name] === undefined) state = "after";
    return { name, value: values[name], state };
  });
}
