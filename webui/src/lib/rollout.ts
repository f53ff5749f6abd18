/** What a person writes of a rollout, as the request that the server takes. */
import type { Schemas } from "../api/client";
import type { Kind } from "./verification";

export const WAVES_MAX = 16;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

export type Wave = { count: number } | { percent: number };

/** "1, 10%, 25%": so many, or a share of all; undefined = it cannot be read. */
export function wavesOf(text: string): Wave[] | undefined {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  if (parts.length > WAVES_MAX) return undefined;
  const waves: Wave[] = [];
  for (const part of parts) {
    const found = /^([1-9][0-9]{0,4})(%?)$/.exec(part);
    const n = Number(found?.[1]);
    if (found === null || n > (found[2] === "%" ? 100 : 10_000)) return undefined;
    waves.push(found[2] === "%" ? { percent: n } : { count: n });
  }
  return waves;
}

/** "rack=a, pod=b"; undefined = it cannot be read, or names no label. */
export function selectorOf(text: string): Record<string, string> | undefined {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  const selector: Record<string, string> = {};
  for (const part of parts) {
    const at = part.indexOf("=");
    const [key, value] = [part.slice(0, at), part.slice(at + 1)];
    if (at < 1 || !NAME.test(key) || (value !== "" && !NAME.test(value)) || key in selector) return undefined;
    selector[key] = value;
  }
  return parts.length === 0 ? undefined : selector;
}

export interface Wish {
  who: "all" | "selector" | "nodes";
  selector: string;
  nodes: readonly string[];
  waves: string;
  confirm: "" | "auto" | "manual";
  timeout: string;
  soak: string;
  message: string;
  /** What is measured between the nodes of each wave; none = they are not verified. */
  verify: readonly Kind[];
  /** What cannot be measured does not stop the wave. */
  verifyUnknown: boolean;
}

/** The request, or which member of the wish cannot be read. What is empty is the policy's. */
export function requestOf(wish: Wish): { body: Schemas["RolloutRequest"] } | { wrong: "selector" | "nodes" | "waves" } {
  const waves = wavesOf(wish.waves);
  if (waves === undefined) return { wrong: "waves" };
  const selector = selectorOf(wish.selector);
  if (wish.who === "selector" && selector === undefined) return { wrong: "selector" };
  if (wish.who === "nodes" && wish.nodes.length === 0) return { wrong: "nodes" };
  const who = wish.who === "all" ? { all: true } : wish.who === "selector" ? { selector } : { nodes: [...wish.nodes] };
  const body = {
    ...who,
    ...(waves.length === 0 ? {} : { waves }),
    ...(wish.confirm === "" ? {} : { confirm: wish.confirm }),
    ...(wish.timeout === "" ? {} : { confirm_timeout: wish.timeout }),
    ...(wish.soak === "" ? {} : { soak: wish.soak }),
    ...(wish.verify.length === 0 ? {} : { verify: { kinds: [...wish.verify], ...(wish.verifyUnknown ? { unknown: "pass" as const } : {}) } }),
    ...(wish.message === "" ? {} : { message: wish.message }),
  };
  return { body: body as Schemas["RolloutRequest"] };
}

/** How many of how many are through, and each state's share, the furthest first; what is 0 is left out. */
export function progressOf(nodes: Readonly<Record<string, number>>): { total: number; done: number; parts: { state: string; n: number }[] } {
  const order = ["confirmed", "applied", "offered", "waiting", "returned", "returning", "expired", "absent", "failed"];
  const parts = Object.entries(nodes)
    .filter(([, n]) => n > 0)
    .map(([state, n]) => ({ state, n }))
    .sort((a, b) => (order.indexOf(a.state) + 99) % 99 - ((order.indexOf(b.state) + 99) % 99));
  return { total: parts.reduce((sum, part) => sum + part.n, 0), done: nodes["confirmed"] ?? 0, parts };
}

export type Verb = "pause" | "resume" | "confirm" | "rollback";

/** What a person can ask of a rollout as it is: the moves that the server allows (doc/rollouts.md). */
export function verbsOf(rollout: { state: string; waves: readonly { state: string }[] }): Verb[] {
  const { state } = rollout;
  const passed = rollout.waves.some((wave) => wave.state === "passed");
  const verbs: Verb[] = [];
  if (state === "running") verbs.push("pause");
  if (state === "paused") verbs.push("resume");
  if (state === "confirming" || (state === "paused" && passed)) verbs.push("confirm");
  if (!["preparing", "rolling-back", "rolled-back"].includes(state)) verbs.push("rollback");
  return verbs;
}
