/** What a tenant is promised and what its jobs get. What nobody measured stays unknown. */
import { jobsOf } from "./policy";
import { AGAIN, againPpm, AGAIN_PPM, latencyOf, SENT_BYTES, SENT_PACKETS, type Value } from "./qp";
import type { Json } from "./diff";
import { minutesText, type ReportJob } from "./report";

const UNITS: Record<string, number> = { bps: 1, Kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Kbit: 1e3, Mbit: 1e6, Gbit: 1e9 };
/** Whoever sends so near to the limit is held by it. */
const AT_LIMIT = 0.95;

export interface Bandwidth {
  percent?: number;
  bps?: number;
}

/** "40%", "2.5Gbps"; undefined = it is none. */
export function bandwidth(text: unknown): Bandwidth | undefined {
  const match = typeof text === "string" ? /^(\d+(?:\.\d+)?)(%|[KMG]?bps|[KMG]bit)$/.exec(text) : null;
  if (match === null) return undefined;
  const value = Number(match[1]);
  return match[2] === "%" ? { percent: value } : { bps: value * (UNITS[match[2] ?? ""] ?? 1) };
}

export interface Used {
  jobs: number;
  /** Sum of the guarantees that are shares; the rest are rates, which need a port to be one. */
  percent: number;
  rates: number;
}

export function usedOf(policy: Json | undefined): Used {
  const used = { jobs: 0, percent: 0, rates: 0 };
  for (const [, members] of jobsOf(policy)) {
    used.jobs += 1;
    const guarantee = bandwidth(members["bw_guarantee"]);
    if (guarantee?.percent !== undefined) used.percent += guarantee.percent;
    else if (guarantee !== undefined) used.rates += 1;
  }
  return used;
}

interface PlacementLike {
  job: string;
  label: number;
  placement: unknown;
}
interface IncidentLike {
  id: number;
  rule: string;
  state: string;
  job?: string;
  observed?: string;
  root?: number;
}

export type Part = "victim" | "presses" | "at-limit" | "neither" | "unknown";

export interface JobRow {
  job: string;
  priority: string | undefined;
  guarantee: string | undefined;
  /** On the port where it is least. */
  grantedBps: number | undefined;
  limit: string | undefined;
  label: number | undefined;
  pairs: number | undefined;
  sendsBps: number | undefined;
  againPpm: number | undefined;
  p50Ns: number | undefined;
  p99Ns: number | undefined;
  minutesBelow: string | undefined;
  incidents: number;
  part: Part;
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined);
const sumOf = (values: readonly Value[], names: readonly string[], of: (value: Value) => number | undefined): number | undefined => {
  const known = values.filter((value) => names.includes(value.metric)).flatMap((value) => of(value) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, n) => sum + n, 0);
};

/** What the tenant's report says of a job; the mean is that of the port where it fared worst. */
type Fared = Pick<ReportJob, "granted_bps" | "limit_bps" | "mean_bps" | "below_minutes" | "known_minutes">;

/**
 * Who suffers, and who may make others suffer: a victim has an open incident about what it gets, or minutes below its
 * guarantee; who is at its limit on its worst port is held by it; who sends more than its guarantee even there presses when
 * others want theirs. Who sends less on all ports together than it was granted on one does neither; the rest is not known.
 */
export function partOf(open: readonly { rule: string }[], sendsBps: number | undefined, fared: Fared | undefined, promised: { guarantee: unknown; limit: unknown }): Part {
  if (open.some(({ rule }) => ["guarantee-not-met", "latency-outlier", "retransmission-rate"].includes(rule))) return "victim";
  if ((fared?.below_minutes ?? 0) > 0) return "victim";
  const [guarantee, limit] = [fared?.granted_bps ?? bandwidth(promised.guarantee)?.bps, fared?.limit_bps ?? bandwidth(promised.limit)?.bps];
  const onPort = fared?.mean_bps;
  if (limit !== undefined && onPort !== undefined && onPort >= limit * AT_LIMIT) return "at-limit";
  if (guarantee !== undefined && onPort !== undefined && onPort > guarantee) return "presses";
  if (sendsBps === undefined) return "unknown";
  const less = (bound: number | undefined, text: unknown) => (bound === undefined ? bandwidth(text) === undefined : sendsBps < bound * AT_LIMIT);
  return less(guarantee, promised.guarantee) && less(limit, promised.limit) ? "neither" : "unknown";
}

export function jobRows(policy: Json | undefined, placements: readonly PlacementLike[], values: readonly Value[] | undefined, incidents: readonly IncidentLike[], report?: readonly ReportJob[]): JobRow[] {
  return jobsOf(policy).map(([job, members]) => {
    const label = placements.find((placement) => placement.job === job)?.label;
    const own = (values ?? []).filter((value) => value.kind === "qp" && label !== undefined && value.label === label);
    const open = incidents.filter((incident) => incident.job === job && incident.state === "open");
    const sent = sumOf(own, SENT_BYTES, (value) => value.rate);
    const sendsBps = sent === undefined ? undefined : sent * 8;
    const fared = report?.find((one) => one.job === job);
    const again = own.filter((value) => AGAIN.includes(value.metric)).map((value) => value.value);
    return {
      job,
      priority: text(members["priority"]),
      guarantee: text(members["bw_guarantee"]),
      grantedBps: fared?.granted_bps,
      limit: text(members["bw_limit"]),
      label,
      pairs: values === undefined ? undefined : new Set(own.map((value) => `${value.node}|${value.device}|${value.number}`)).size,
      sendsBps,
      againPpm: againPpm(sumOf(own, SENT_PACKETS, (value) => value.value), again),
      p50Ns: latencyOf(own, 0.5),
      p99Ns: latencyOf(own, 0.99),
      minutesBelow: fared?.below_minutes === undefined ? undefined : minutesText(fared),
      incidents: open.length,
      part: partOf(open, sendsBps, fared, { guarantee: members["bw_guarantee"], limit: members["bw_limit"] }),
    };
  });
}

export const tooMuchAgain = (ppm: number | undefined): boolean => ppm !== undefined && ppm >= AGAIN_PPM;

/** What a job's start script takes along: NCCL's environment of the node, and the label that its traffic is told by. */
export function startCommand(label: number | undefined): string {
  const env = "set -a; . /etc/stellar/env/nccl.env; set +a";
  return label === undefined ? env : `${env}\nsystemd-run --scope --unit=stellar-job-${label} ./train.sh`;
}

interface SeriesLike {
  from: string;
  step_s: number;
  series: readonly { metric: string; type: "counter" | "gauge"; points: number[][] }[];
}

/** Rates of all series with one of these names, added up a step; a step that none knows is a gap. */
export function rateOf(answer: SeriesLike, names: readonly string[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { metric, points } of answer.series)
    if (names.includes(metric))
      for (const [at = 0, sum = 0, , , weight = 0] of points) if (weight > 0) sums.set(at, (sums.get(at) ?? 0) + (sum * 1000) / weight);
  return sums;
}

export interface Line {
  times: number[];
  values: (number | null)[];
}

/** Steps as a line with gaps where steps are missing. */
export function lineOf(answer: SeriesLike, steps: ReadonlyMap<number, number>): Line {
  const line: Line = { times: [], values: [] };
  const start = new Date(answer.from).getTime() / 1000;
  let before: number | undefined;
  for (const [at, value] of [...steps].sort(([a], [b]) => a - b)) {
    if (before !== undefined && at - before > answer.step_s * 1.5) {
      line.times.push(start + before + answer.step_s);
      line.values.push(null);
    }
    line.times.push(start + at);
    line.values.push(value);
    before = at;
  }
  return line;
}

export const bandwidthLine = (answer: SeriesLike): Line => lineOf(answer, new Map([...rateOf(answer, SENT_BYTES)].map(([at, rate]) => [at, rate * 8])));

/** Packets sent again of a million, where both are known and something was sent. */
export function againLine(answer: SeriesLike): Line {
  const sent = rateOf(answer, SENT_PACKETS);
  const steps = [...rateOf(answer, AGAIN)].flatMap(([at, rate]) => {
    const of = sent.get(at) ?? 0;
    return of > 0 ? [[at, (rate * 1e6) / of] as const] : [];
  });
  return lineOf(answer, new Map(steps));
}

export const SERIES_METRICS = [...SENT_BYTES, ...SENT_PACKETS, ...AGAIN];

/** How many took how long, of all values together: [bucket, count], the fastest first. */
export function distribution(values: readonly Value[]): [number, number][] {
  const counts = new Map<number, number>();
  for (const { metric, value } of values) {
    const match = /^latency\.b(\d{1,2})$/.exec(metric);
    if (match !== null && value > 0) counts.set(Number(match[1]), (counts.get(Number(match[1])) ?? 0) + value);
  }
  return [...counts].sort(([a], [b]) => a - b);
}
