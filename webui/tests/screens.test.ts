import { describe, expect, it } from "vitest";

import { hopsOf } from "../src/lib/chain";
import { leaves, threeWay } from "../src/lib/diff";
import { knobRows, portRows, receiptRows, stepRows } from "../src/lib/node";
import { addJob, jobsOf, parse, print, removeJob, setField } from "../src/lib/policy";
import { pointsOf } from "../src/lib/series";
import { filtered, ordered, visible, widthOf } from "../src/lib/table";

describe("tables", () => {
  it("order numbers in names as numbers, and what is not known last either way", () => {
    const rows = ["n10", "n2", null, "n1"];
    expect(ordered(rows, (r) => r, false)).toEqual(["n1", "n2", "n10", null]);
    expect(ordered(rows, (r) => r, true)).toEqual(["n10", "n2", "n1", null]);
    expect(ordered([3, 20, 100], (r) => r, true)).toEqual([100, 20, 3]);
  });
  it("find rows that have every word somewhere", () => {
    const rows = [["n1", "in sync"], ["n2", "failed"]];
    expect(filtered(rows, (r) => r, "  SYNC n1 ")).toEqual([rows[0]]);
    expect(filtered(rows, (r) => r, "n1 failed")).toEqual([]);
    expect(filtered(rows, (r) => r, "")).toEqual(rows);
  });
  it("have columns that are as wide as asked, and never narrower than their title", () => {
    expect(widthOf({ title: "Id", width: 170 })).toBe(170);
    expect(widthOf({ title: "Guarantee at most", width: 90 })).toBeGreaterThan(160);
    expect(widthOf({ title: "带宽保证上限" })).toBeGreaterThan(6 * 13);
  });
  it("draw what the window shows and some beside it, never all", () => {
    const { from, to } = visible(10_000, 28 * 5000, 560, 28);
    expect([from, to]).toEqual([4988, 5032]);
    expect(visible(3, 9999, 560, 28)).toEqual({ from: 0, to: 3 });
    expect(visible(0, 0, 560, 28)).toEqual({ from: 0, to: 0 });
  });
});

describe("documents", () => {
  it("have a pointer for every value, escaped", () => {
    expect([...leaves({ "a/b": [1, {}], c: null })]).toEqual([["/a~1b/0", "1"], ["/a~1b/1", "{}"], ["/c", "null"]]);
  });
  it("changed by two show who changed what, and where both did", () => {
    const rows = threeWay({ a: 1, b: 1, c: 1, d: 1 }, { a: 2, b: 1, c: 2, d: 2 }, { a: 1, b: 2, c: 3, d: 2 });
    expect(rows.map((r) => [r.pointer, r.conflict])).toEqual([["/a", false], ["/b", false], ["/c", true], ["/d", false]]);
  });
  it("that are taken away or new are changes too", () => {
    expect(threeWay(undefined, undefined, { a: 1 })).toEqual([{ pointer: "/a", base: undefined, theirs: undefined, mine: "1", conflict: false }]);
  });
});

describe("the form of a policy", () => {
  const doc = parse('{"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "40%", "solar": {"eta": 1}}}}').doc;
  it("changes one member and keeps what it does not show", () => {
    expect(setField(doc, "nlp_job", "bw_guarantee", "50%")).toEqual({ qos_policy: { nlp_job: { priority: 3, bw_guarantee: "50%", solar: { eta: 1 } } } });
    expect(setField(doc, "nlp_job", "bw_guarantee", "")).toEqual({ qos_policy: { nlp_job: { priority: 3, solar: { eta: 1 } } } });
  });
  it("leaves a priority that is no number to the server's rules", () => {
    expect(jobsOf(setField(doc, "nlp_job", "priority", "high"))[0]?.[1]["priority"]).toBe("high");
    expect(jobsOf(setField(doc, "nlp_job", "priority", "4"))[0]?.[1]["priority"]).toBe(4);
  });
  it("adds and takes away jobs, from nothing too", () => {
    expect(addJob(undefined, "a")).toEqual({ qos_policy: { a: { priority: 0 } } });
    expect(addJob(doc, "nlp_job")).toEqual(doc);
    expect(removeJob(doc, "nlp_job")).toEqual({ qos_policy: {} });
  });
  it("has no jobs where the text is another thing", () => {
    expect([null, 1, [], { qos_policy: 1 }, { qos_policy: { a: 1 } }].map((d) => jobsOf(d).length)).toEqual([0, 0, 0, 0, 0]);
    expect(parse("{").error).toBeTruthy();
    expect(parse(print(doc ?? null)).doc).toEqual(doc);
  });
});

describe("marking chains", () => {
  const whole = { dscp: 26, priority: 3, class: 3, buffer: 1, lossless: true, verdict: "whole" as const };
  it("that are whole are so at every hop", () => {
    expect(hopsOf(whole).map((h) => h.state)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
  });
  it("are broken at one hop, and nothing is said of those behind it", () => {
    const hops = hopsOf({ dscp: 26, priority: 3, lossless: false, verdict: "broken", at: "class" });
    expect(hops.map((h) => h.state)).toEqual(["ok", "ok", "broken", "after", "after"]);
    expect(hops[2]?.value).toBeUndefined();
  });
  it("are never good at a hop that has no value", () => {
    expect(hopsOf({ dscp: 26, lossless: false, verdict: "unknown" }).map((h) => h.state)).toEqual(["ok", "after", "after", "after", "after"]);
  });
});

describe("series", () => {
  const answer = (type: "counter" | "gauge", points: number[][]) => ({ from: "1970-01-01T00:00:10Z", step_s: 10, series: [{ type, points }] });
  it("of counters are rates of the time that is known", () => {
    expect(pointsOf(answer("counter", [[0, 500, 0, 0, 10_000], [10, 500, 0, 0, 5000]]))).toEqual({ times: [10, 20], values: [50, 100] });
  });
  it("of gauges are means", () => {
    expect(pointsOf(answer("gauge", [[0, 30, 0, 0, 3]]))).toEqual({ times: [10], values: [10] });
  });
  it("have gaps where nothing is known, never 0", () => {
    expect(pointsOf(answer("gauge", [[0, 1, 1, 1, 1], [40, 1, 1, 1, 1]])).values).toEqual([1, null, 1]);
    expect(pointsOf({ from: "x", step_s: 1, series: [] })).toEqual({ times: [], values: [] });
  });
});

describe("what a node reported", () => {
  it("is looked at member by member, and what was not told stays unknown", () => {
    expect(portRows(null)).toEqual([]);
    expect(portRows({ ports: ["x", { id: "a/0", speed_bps: "fast" }] })[0]).toMatchObject({ id: "a/0", speed: undefined, mtu: undefined, link: undefined });
    expect(knobRows({ knobs: [{ kind: "port.dscp", live: [1], persisted: null }] })[0]).toMatchObject({ kind: "port.dscp", live: "[1]", persisted: "null", next: undefined });
    expect(receiptRows([{ id: 1, received: "t", receipt: 7 }])[0]).toMatchObject({ key: "1", result: undefined, steps: [] });
  });
  it("is told step by step, with who made a drift", () => {
    const steps = [{ text: "drift link.mtu a/0", done: true, undone: false, before: 4200, after: 1500, writer: "sh" }, { text: "x", done: true, undone: true }, 7, {}];
    const [receipt] = receiptRows([{ id: 1, received: "t", receipt: { steps } }]);
    expect(stepRows(receipt ?? { steps: [] }).map((s) => [s.text, s.state, s.before, s.after, s.writer])).toEqual([
      ["drift link.mtu a/0", "done", "4200", "1500", "sh"], ["x", "undone", undefined, undefined, undefined], [undefined, "not-done", undefined, undefined, undefined],
    ]);
  });
});
