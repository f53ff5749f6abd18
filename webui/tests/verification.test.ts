import { render } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import TestTable from "../src/components/TestTable.svelte";
import { toneOf } from "../src/lib/tone";
import { againOf, changeOf, gradeOf, inUnit, limitOf, membersOf, partsOf, requestOf, signed, unitOf, whyOf, wishOf, type Test } from "../src/lib/verification";

// The DOM of these tests has no layout, and so nothing that watches sizes.
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};

const test: Test = { test: "v-2-1", kind: "send_lat", members: [{ node: "n1", device: "mlx5_0" }, { node: "n2", device: "mlx5_0" }], state: "over", software: false, figures: {}, measure: "latency_p50_ns" };

describe("what an address asks for", () => {
  it("is every node when it names none, and only kinds that there are", () => {
    expect(wishOf(new URLSearchParams("kinds=mesh,nonsense,send_lat"))).toMatchObject({ all: true, nodes: [], kinds: ["send_lat", "mesh"] });
    expect(wishOf(new URLSearchParams("nodes=n1,,n2,n1"))).toMatchObject({ all: false, nodes: ["n1", "n2"], kinds: [] });
  });
  it("is the same again, without the nodes when they are too many", () => {
    expect(againOf({ kinds: ["mesh"], tests: [test, test] })).toBe("/verifications/new?nodes=n1%2Cn2&kinds=mesh");
    const many = Array.from({ length: 65 }, (_, i) => ({ ...test, members: [{ node: `n${i}` }] }));
    expect(againOf({ kinds: ["mesh"], tests: many })).toBe("/verifications/new?kinds=mesh");
  });
});

describe("the request of a verification", () => {
  const wish = wishOf(new URLSearchParams("nodes=n1,n2&kinds=mesh"));
  it("has the chosen nodes and kinds, and what was added", () => {
    expect(requestOf({ ...wish, message: "m", more: { pairs: "all" } })).toEqual({ body: { pairs: "all", nodes: ["n1", "n2"], kinds: ["mesh"], message: "m" } });
    expect(requestOf({ ...wish, all: true })).toEqual({ body: { all: true, kinds: ["mesh"] } });
  });
  it("says what is still to be chosen", () => {
    expect(requestOf({ ...wish, kinds: [] })).toEqual({ wrong: "kinds" });
    expect(requestOf({ ...wish, nodes: [] })).toEqual({ wrong: "nodes" });
  });
});

describe("what was measured", () => {
  it("is in the unit that people read, against the limit of that unit", () => {
    const rate: Test = { ...test, measure: "rate_bps", value: 98_123_456_789, limit: 98_000_000_000, limit_is: "at-least" };
    expect([inUnit(rate.measure, rate.value), unitOf(rate.measure), limitOf(rate)]).toEqual([98.1235, "Gb/s", "≥ 98"]);
    expect(limitOf({ ...test, value: 1000, limit: 1200, limit_is: "below" })).toBe("< 1200");
    expect([inUnit("spread_permyriad", 150), unitOf("spread_permyriad"), unitOf("a_newer_one"), inUnit("a_newer_one", 7)]).toEqual([1.5, "%", "", 7]);
  });
  it("and is not known stays nothing, and a measured 0 stays 0", () => {
    expect([inUnit("rate_bps", undefined), limitOf(test), changeOf(test), whyOf(test)]).toEqual([undefined, undefined, undefined, undefined]);
    expect([inUnit("answered", 0), changeOf({ ...test, value: 1, last: { verification: "v-1", value: 1, change_permyriad: 0 } })]).toEqual([0, 0]);
    expect(changeOf({ ...test, last: { verification: "v-1", value: 1000 } })).toBeUndefined();
  });
  it("is compared with the last time in percent, with its sign", () => {
    expect([2500, -310, 0].map((change) => signed(changeOf({ ...test, value: 1, last: { verification: "v-1", value: 1, change_permyriad: change } }) ?? Number.NaN))).toEqual(["+25", "-3.1", "0"]);
  });
  it("has a grade that is never better than what the server said", () => {
    expect([gradeOf(test), gradeOf({ ...test, state: "running" }), gradeOf({ ...test, verdict: "not-applicable" })]).toEqual(["unknown", "running", "not-applicable"]);
    expect(["pass", "fail", "unknown", "not-applicable"].map(toneOf)).toEqual(["ok", "bad", "off", "off"]);
  });
  it("names who was tested and why", () => {
    expect(membersOf({ ...test, members: [{ node: "n1", device: "a" }, { node: "n2" }] })).toBe("n1/a → n2");
    expect([whyOf({ ...test, why: "x", problem: "y" }), whyOf({ ...test, why: "x", problem: "x" })]).toEqual(["x; y", "x"]);
  });
  it("is counted, the worst first, without what is none", () => {
    expect(partsOf({ total: 3, waiting: 0, running: 1, pass: 1, fail: 1, unknown: 0, "not-applicable": 0 }).map((part) => part.state)).toEqual(["fail", "pass", "running"]);
  });
  it("stands in the table with dashes for what is not known", () => {
    const { container } = render(TestTable, { name: "x", tests: [{ ...test, verdict: "unknown", why: "node n2 did not answer in time" }, { ...test, test: "v-2-2", verdict: "not-applicable", value: 9000 }] });
    const rows = [...container.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent?.replace(/\s+/g, " ").trim()));
    expect(rows[0]?.slice(2)).toEqual(["○ unknown", "node n2 did not answer in time", "latency, median", "–", "ns", "–", "–", "–"]);
    expect(rows[1]?.slice(2)).toEqual(["○ not applicable", "–", "latency, median", "9000", "ns", "–", "–", "–"]);
  });
});
