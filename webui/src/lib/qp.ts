/** Queue pairs as rows, of the latest values of their counters. */
import { bucketOf, quantileNs } from "./quantile";

export interface Value {
  node: string;
  kind: string;
  device: string;
  number: number;
  pid?: number;
  label?: number;
  metric: string;
  type: "counter" | "gauge";
  value: number;
  rate?: number;
}

export interface QpRow {
  key: string;
  node: string;
  device: string;
  number: number;
  pid: number | undefined;
  label: number | undefined;
  sentBps: number | undefined;
  sentPackets: number | undefined;
  /** Packets that were sent again, as parts of a million of those sent; since they are counted. */
  againPpm: number | undefined;
  rttNs: number | undefined;
  p50Ns: number | undefined;
  p99Ns: number | undefined;
}

/** From here on a rule of health calls it too many: 0.001 %. */
export const AGAIN_PPM = 10;
export const SENT_BYTES = ["tx_bytes", "sent_bytes"];
export const SENT_PACKETS = ["tx_packets", "sent_pkts", "sent_packets"];
/** As the rule retransmission-rate adds them up (doc/health.md), and libsolar's own. */
export const AGAIN = ["packet_seq_err", "local_ack_timeout_err", "implied_nak_seq_err", "rcvd_seq_err", "completer_retry_err", "retransmits", "resent_packets"];

const firstOf = (values: ReadonlyMap<string, Value>, names: readonly string[]) => names.map((name) => values.get(name)).find((value) => value !== undefined);

export function againPpm(sent: number | undefined, again: readonly number[]): number | undefined {
  if (sent === undefined || sent <= 0 || again.length === 0) return undefined;
  return (again.reduce((sum, n) => sum + n, 0) * 1e6) / sent;
}

/** Latency of all these values together, by the columns NAME.bN. */
export function latencyOf(values: readonly Value[], share: number): number | undefined {
  const counts = new Map<number, number>();
  for (const { metric, value } of values) {
    const bucket = bucketOf("latency", metric);
    if (bucket !== undefined) counts.set(bucket, (counts.get(bucket) ?? 0) + value);
  }
  return quantileNs(counts, share);
}

function rowOf(key: string, values: readonly Value[]): QpRow | undefined {
  const first = values[0];
  if (first === undefined) return undefined;
  const by = new Map(values.map((value) => [value.metric, value]));
  const bytes = firstOf(by, SENT_BYTES)?.rate;
  const again = AGAIN.flatMap((name) => by.get(name)?.value ?? []);
  return {
    key,
    node: first.node,
    device: first.device,
    number: first.number,
    pid: first.pid,
    label: first.label === 0 ? undefined : first.label,
    sentBps: bytes === undefined ? undefined : bytes * 8,
    sentPackets: firstOf(by, SENT_PACKETS)?.value,
    againPpm: againPpm(firstOf(by, SENT_PACKETS)?.value, again),
    rttNs: by.get("rtt_ns")?.value,
    p50Ns: latencyOf(values, 0.5),
    p99Ns: latencyOf(values, 0.99),
  };
}

export function qpRows(items: readonly Value[]): QpRow[] {
  const groups = new Map<string, Value[]>();
  for (const item of items) {
    if (item.kind !== "qp") continue;
    const key = [item.node, item.device, item.number].join("|");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups].flatMap(([key, values]) => rowOf(key, values) ?? []);
}
