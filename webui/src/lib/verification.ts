/** Tests between nodes: what a person orders, and what was measured. A figure that is not known is nothing, never 0. */
import type { Schemas } from "../api/client";
import type { Json } from "./diff";

export type Test = Schemas["VerificationTest"];
export type Kind = Schemas["VerifyKind"];

/** As the contract has them, in the order of its documents. */
export const KINDS: readonly Kind[] = ["send_lat", "read_bw", "write_bw", "mesh", "allreduce"];
export const NODES_MAX = 1024;
const AGAIN_MAX = 64; // nodes that an address takes along
/** Members of a request that its form asks for by fields of their own. */
export const OWN_FIELDS: readonly string[] = ["nodes", "selector", "all", "kinds", "message"];

export interface Wish {
  all: boolean;
  nodes: readonly string[];
  kinds: readonly Kind[];
  message: string;
  /** Devices, pairs, sizes and deadline, as the contract has them. */
  more: { [key: string]: Json };
}

/** What an address asks for: ?nodes=n1,n2&kinds=mesh; kinds that there are not are left out. */
export function wishOf(query: URLSearchParams): Wish {
  const list = (name: string) => (query.get(name) ?? "").split(",").filter((part) => part !== "");
  const nodes = [...new Set(list("nodes"))].slice(0, NODES_MAX);
  const kinds = list("kinds");
  return { all: nodes.length === 0, nodes, kinds: KINDS.filter((kind) => kinds.includes(kind)), message: "", more: {} };
}

/** The request, or which part of it is still to be chosen. */
export function requestOf(wish: Wish): { body: Schemas["VerificationRequest"] } | { wrong: "kinds" | "nodes" } {
  if (wish.kinds.length === 0) return { wrong: "kinds" };
  if (!wish.all && wish.nodes.length === 0) return { wrong: "nodes" };
  const who = wish.all ? { all: true } : { nodes: [...wish.nodes] };
  const body = { ...wish.more, ...who, kinds: [...wish.kinds], ...(wish.message === "" ? {} : { message: wish.message }) };
  return { body: body as Schemas["VerificationRequest"] };
}

/** The same nodes and kinds again; without the nodes when an address cannot take so many. */
export function againOf(verification: { kinds: readonly string[]; tests: readonly Test[] }): string {
  const nodes = [...new Set(verification.tests.flatMap((test) => test.members.map((member) => member.node)))];
  const query = new URLSearchParams({ ...(nodes.length > AGAIN_MAX ? {} : { nodes: nodes.join(",") }), kinds: verification.kinds.join(",") });
  return `/verifications/new?${query}`;
}

const GRADES = ["fail", "unknown", "pass", "not-applicable", "running", "waiting"] as const;

/** How many tests are how, the worst first; what is 0 is left out. */
export const partsOf = (counts: Readonly<Record<string, number>>): { state: string; n: number }[] =>
  GRADES.map((state) => ({ state, n: counts[state] ?? 0 })).filter(({ n }) => n > 0);

/** The grade; of a test that is not over, how far it is. Never "pass" by itself. */
export const gradeOf = (test: Test): string => test.verdict ?? (test.state === "over" ? "unknown" : test.state);

/** "n1/mlx5_0 → n2/mlx5_0": the first one asks. */
export const membersOf = (test: Test): string =>
  test.members.map(({ node, device }) => (device === undefined ? node : `${node}/${device}`)).join(" → ");

export type Unit = "ns" | "Gb/s" | "%" | "peers" | "";
const UNITS: Readonly<Record<string, readonly [Unit, number]>> = {
  latency_p50_ns: ["ns", 1], rate_bps: ["Gb/s", 1e9], spread_permyriad: ["%", 100], answered: ["peers", 1],
};
const DIGITS = 6;

export const unitOf = (measure: string): Unit => UNITS[measure]?.[0] ?? "";

/** A figure in the unit that people read it in; undefined = it was not measured. */
export function inUnit(measure: string, value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number((value / (UNITS[measure]?.[1] ?? 1)).toPrecision(DIGITS));
}

/** "< 1200", "≥ 98"; undefined = it was held against nothing. */
export function limitOf(test: Test): string | undefined {
  const limit = inUnit(test.measure, test.limit);
  return limit === undefined ? undefined : `${test.limit_is === "below" ? "<" : "≥"} ${limit}`;
}

/** Percent of the last time's value; undefined = there is nothing to compare with. */
export const changeOf = (test: Test): number | undefined =>
  test.value === undefined || test.last?.change_permyriad === undefined ? undefined : test.last.change_permyriad / 100;

/** "+25", "-3.1", "0". */
export const signed = (percent: number): string => (percent > 0 ? `+${percent}` : String(percent));

/** Why the grade is what it is, with the first trouble that a node told. */
export const whyOf = (test: Test): string | undefined =>
  [test.why, test.problem].filter((text, i, all) => text !== undefined && all.indexOf(text) === i).join("; ") || undefined;
