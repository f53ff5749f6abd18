import { describe, expect, it } from "vitest";

import { conditionsText, findingsByRule } from "../src/lib/compat";
import { nanoseconds } from "../src/lib/format";
import { gidRows, pcieRows, timeline } from "../src/lib/node";
import { addressOf, curlOf, operationsOf, resolve } from "../src/lib/openapi";
import { againPpm, qpRows, type Value } from "../src/lib/qp";
import { bucketOf, quantileNs } from "../src/lib/quantile";
import { minutesText } from "../src/lib/report";
import { againLine, bandwidth, bandwidthLine, distribution, jobRows, partOf, startCommand, tooMuchAgain, usedOf } from "../src/lib/tenant";

const value = (metric: string, n: number, more: object = {}) => ({ node: "n1", kind: "qp", device: "mlx5_0", number: 17, metric, type: "counter" as const, value: n, ...more });

describe("queue pairs", () => {
  it("are a row each, of the names of the kernel and of libsolar alike", () => {
    const rows = qpRows([
      value("tx_packets", 1_000_000), value("tx_bytes", 9, { rate: 125_000 }), value("packet_seq_err", 8), value("local_ack_timeout_err", 4),
      value("sent_packets", 0, { number: 18 }), value("resent_packets", 3, { number: 18 }),
      value("tx_bytes", 1, { kind: "port" }),
    ]);
    expect(rows.map((r) => [r.number, r.sentBps, r.againPpm])).toEqual([[17, 1_000_000, 12], [18, undefined, undefined]]);
  });
  it("have no label when it is 0, and nothing that was not told", () => {
    expect(qpRows([value("queue_pairs", 2, { label: 0, pid: 7 })])[0]).toMatchObject({ label: undefined, pid: 7, rttNs: undefined, p99Ns: undefined, againPpm: undefined });
  });
  it("never tell that nothing was sent again when nobody counts it", () => {
    expect(againPpm(1000, [])).toBeUndefined();
    expect(againPpm(1000, [0])).toBe(0);
  });
  it("tell latency by the end of its bucket", () => {
    const row = qpRows([value("latency.b0", 50), value("latency.b2", 49), value("latency.b49", 1)])[0];
    expect([row?.p50Ns, row?.p99Ns]).toEqual([256, 512]);
    expect(quantileNs(new Map([[49, 1]]), 0.5)).toBe(Infinity);
    expect(quantileNs(new Map([[3, 0]]), 0.5)).toBeUndefined();
    expect([bucketOf("latency", "latency.b50"), bucketOf("latency", "latency.b7"), bucketOf("latency", "other.b7")]).toEqual([undefined, 7, undefined]);
    expect([nanoseconds(Infinity), nanoseconds(12_345), nanoseconds(undefined)]).toEqual(["> 4 s", "12.3 µs", "–"]);
  });
});

describe("hardware of a node", () => {
  it("is full only when all four numbers are known", () => {
    const pcie = { current_gen: 4, max_gen: 4, current_width: 8, max_width: 16 };
    const rows = pcieRows({ ports: [{ id: "a/0", pcie }, { id: "b/0", pcie: { current_gen: 4 } }], gpus: [{ id: "c", pcie: { ...pcie, current_width: 16 } }] });
    expect(rows.map((r) => [r.kind, r.verdict])).toEqual([["nic", "degraded"], ["nic", undefined], ["gpu", "full"]]);
  });
  it("has GIDs by device and port, whatever else stands there", () => {
    expect(gidRows({ rdma_devices: [{ name: "rxe0", ports: [{ port: 1, gids: [{ index: 1, gid: "::ffff:10.0.0.1", type: "RoCE v2", netdev: "eth0" }, 7] }, "x"] }, null] })).toEqual([
      { key: "0/1/0", device: "rxe0", port: 1, index: 1, gid: "::ffff:10.0.0.1", type: "RoCE v2", netdev: "eth0" },
    ]);
    expect(gidRows(undefined)).toEqual([]);
  });
  it("has one line of time of changes and incidents, the newest first", () => {
    const events = [{ id: 1, time: "2026-01-01T00:00:00Z", kind: "node.receipt", subject: "node/n1", body: { result: "drift" } }, { id: 2, time: "2026-01-01T00:00:09Z", kind: "incident.opened", subject: "node/n1", body: {} }];
    const incident = { id: 5, rule: "fcs-errors", severity: "warning", subject: "node/n1", message: "12", opened: "2026-01-01T00:00:10Z", cleared: "2026-01-01T00:00:20Z" };
    expect(timeline(events, [incident]).map((r) => [r.key, r.text])).toEqual([["c5", "fcs-errors: 12"], ["o5", "fcs-errors: 12"], ["e1", "result drift"]]);
  });
});

describe("hardware rules", () => {
  it("read as conditions", () => {
    expect(conditionsText([{ fact: "gen", at_least: 4 }, { fact: "model", any_of: ["*A*", "B"] }, { fact: "rdma", is: true }, { fact: "vf", is: false }])).toBe("gen ≥ 4, model: *A* | B, rdma, not vf");
    expect(conditionsText(undefined)).toBe("");
    expect([...findingsByRule([{ rule: "a" }, { rule: "a" }])]).toEqual([["a", 2]]);
  });
});

describe("the contract", () => {
  const root = {
    paths: {
      "/v1/nodes/{node}": {
        get: { operationId: "node_get", summary: "A node", parameters: [{ $ref: "#/components/parameters/Fields" }], responses: { "200": { description: "It", content: { "application/json": { examples: { one: { value: { name: "n1" } } } } } } } },
        put: { operationId: "node_put", requestBody: { content: { "application/json": { examples: { one: { value: {} } } } } } },
        summary: "not an operation",
      },
    },
    components: { parameters: { Fields: { name: "fields", in: "query", schema: { enum: ["a", "b"] } } } },
  };
  const [get, put] = operationsOf(root);
  it("is its operations, with references followed", () => {
    expect(operationsOf(root).map((o) => [o.method, o.id, o.group])).toEqual([["GET", "node_get", "nodes"], ["PUT", "node_put", "nodes"]]);
    expect(get?.parameters.map((p) => [p.name, p.where, p.choices])).toEqual([["node", "path", []], ["fields", "query", ["a", "b"]]]);
    expect(get?.answers[0]?.example).toBe('{\n  "name": "n1"\n}');
    expect(resolve(root, { $ref: "#/nowhere/at/all" })).toBeUndefined();
    expect(operationsOf(null)).toEqual([]);
  });
  it("makes addresses and commands in which nothing gets loose", () => {
    if (get === undefined || put === undefined) throw new Error("no operations");
    expect(addressOf(get, { node: "a/b", fields: "a b" })).toBe("/v1/nodes/a%2Fb?fields=a+b");
    expect(addressOf(get, {})).toBe("/v1/nodes/{node}");
    expect(curlOf(put, { node: "n1" }, "https://s", "it's")).toContain(`--data 'it'\\''s'`);
    expect(curlOf(put, { node: "n1" }, "https://s", "{}")).toContain('"Authorization: Bearer $STELLAR_TOKEN"');
  });
});

describe("what a tenant gets", () => {
  const policy = { qos_policy: { llm: { priority: 3, bw_guarantee: "40%" }, cv: { priority: 2, bw_guarantee: "2Gbps", bw_limit: "4Gbps" }, odd: 7 } };
  const of = (label: number, metric: string, n: number, rate?: number): Value => ({ ...value(metric, n), label, ...(rate === undefined ? {} : { rate }) });
  it("reads bandwidths as the server writes them, and no others", () => {
    expect([bandwidth("40%"), bandwidth("2.5Gbit"), bandwidth("90Kbps")]).toEqual([{ percent: 40 }, { bps: 2.5e9 }, { bps: 9e4 }]);
    expect([bandwidth("40"), bandwidth("-1%"), bandwidth(40), bandwidth("1 Gbps"), bandwidth(undefined)]).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });
  it("is held against its quota: shares add up, rates are counted", () => {
    expect(usedOf(policy)).toEqual({ jobs: 2, percent: 40, rates: 1 });
    expect(usedOf(undefined)).toEqual({ jobs: 0, percent: 0, rates: 0 });
  });
  it("is a row a job, of the queue pairs with its label alone", () => {
    const rows = jobRows(policy, [{ job: "cv", label: 17, placement: {} }], [of(17, "tx_bytes", 1, 3e8), of(17, "tx_packets", 1e6), of(17, "retransmits", 20), of(18, "tx_bytes", 1, 9e9)], [{ id: 1, rule: "guarantee-not-met", state: "open", job: "llm" }], [{ job: "llm", ports: 2, known_ports: 1, granted_bps: 4e9, below_minutes: 7, known_minutes: 20, mean_bps: 1e9 }]);
    expect(rows.map((r) => [r.job, r.sendsBps, r.againPpm, r.pairs, r.grantedBps, r.minutesBelow, r.part])).toEqual([
      ["llm", undefined, undefined, 0, 4e9, "7 / 20", "victim"],
      ["cv", 2.4e9, 20, 1, undefined, undefined, "unknown"],
    ]);
    expect(jobRows(policy, [], undefined, [])[0]).toMatchObject({ pairs: undefined, part: "unknown" });
  });
  it("tells a part only by what is known", () => {
    const rates = { guarantee: "1Gbps", limit: "4Gbps" };
    const shares = { guarantee: "40%", limit: undefined };
    const none = { guarantee: undefined, limit: undefined };
    expect(partOf([], undefined, undefined, rates)).toBe("unknown");
    expect(partOf([], 5e9, undefined, shares)).toBe("unknown");
    expect(partOf([], 5e9, { granted_bps: 4e10 }, shares)).toBe("neither");
    expect(partOf([], 5e9, { granted_bps: 4e9, mean_bps: 3e9 }, shares)).toBe("unknown");
    expect(partOf([], 5e9, { granted_bps: 4e9, mean_bps: 4.1e9 }, shares)).toBe("presses");
    expect(partOf([], 9e9, { limit_bps: 4e9, mean_bps: 3.9e9 }, rates)).toBe("at-limit");
    expect(partOf([], 5e8, undefined, rates)).toBe("neither");
    expect(partOf([], 2e9, undefined, rates)).toBe("unknown");
    expect(partOf([{ rule: "fcs-errors" }], 5, undefined, none)).toBe("neither");
  });
  it("is a victim in one minute below its guarantee, and by no minute that nobody knows", () => {
    expect(partOf([], 5, { below_minutes: 1, known_minutes: 20 }, { guarantee: "40%", limit: undefined })).toBe("victim");
    expect([minutesText({}), minutesText({ below_minutes: 0, known_minutes: 3 })]).toEqual(["–", "0 / 3"]);
  });
  it("calls 0.001 % too much, and less or nothing known not", () => {
    expect([tooMuchAgain(10), tooMuchAgain(9.9), tooMuchAgain(undefined)]).toEqual([true, false, false]);
  });
  it("is a line of all its queue pairs together, with gaps where nothing is known", () => {
    const answer = { from: "1970-01-01T00:00:00Z", step_s: 10, series: [
      { metric: "tx_bytes", type: "counter" as const, points: [[0, 100, 0, 0, 1000], [30, 100, 0, 0, 1000]] },
      { metric: "sent_bytes", type: "counter" as const, points: [[0, 50, 0, 0, 500]] },
      { metric: "tx_packets", type: "counter" as const, points: [[0, 1000, 0, 0, 1000], [30, 0, 0, 0, 1000]] },
      { metric: "retransmits", type: "counter" as const, points: [[0, 1, 0, 0, 1000], [30, 0, 0, 0, 1000]] },
    ] };
    expect(bandwidthLine(answer)).toEqual({ times: [0, 10, 30], values: [1600, null, 800] });
    expect(againLine(answer)).toEqual({ times: [0], values: [1000] });
  });
  it("has its latency as counts a bucket", () => {
    expect(distribution([of(1, "latency.b9", 2), of(2, "latency.b9", 3), of(1, "latency.b2", 1), of(1, "latency.b3", 0)])).toEqual([[2, 1], [9, 5]]);
  });
  it("starts a job under the name of its label", () => {
    expect(startCommand(17)).toContain("--unit=stellar-job-17 ");
    expect(startCommand(undefined)).not.toContain("unit");
  });
});
