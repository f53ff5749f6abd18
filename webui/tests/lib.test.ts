import { describe, expect, it } from "vitest";

import { csvCell, toCsv } from "../src/lib/csv";
import { ageS, bps, bytes, duration, NOTHING, tick, trim } from "../src/lib/format";
import { isServerEvent } from "../src/lib/live.svelte";
import { isOf } from "../src/lib/resource.svelte";
import { matchPath } from "../src/lib/router.svelte";
import { SseParser, type Message } from "../src/lib/sse";
import { cellsOf } from "../src/lib/table";

describe("paths", () => {
  it("match part by part, with names decoded", () => {
    expect(matchPath("/nodes/{node}", "/nodes/a%2Fb")).toEqual({ params: { node: "a/b" } });
    expect(matchPath("/nodes/{node}", "/nodes/")).toBeNull();
    expect(matchPath("/nodes/{node}", "/nodes/a/b")).toBeNull();
    expect(matchPath("/nodes/{node}", "/nodes/%E0%A4%A")).toBeNull();
    expect(matchPath("/", "/")).toEqual({ params: {} });
  });
});

describe("ticks of time", () => {
  const at = (h: number, min: number, s = 0) => new Date(2026, 11, 2, h, min, s).getTime() / 1000;
  it("are of 24 hours, as fine as they stand apart, and midnight is its day", () => {
    expect([tick(at(16, 5), 300, "en-GB"), tick(at(16, 5, 7), 1, "en-GB"), tick(at(0, 5), 300, "en-GB")]).toEqual(["16:05", "16:05:07", "00:05"]);
    expect([tick(at(0, 0), 300, "en-GB"), tick(at(12, 0), 86_400, "en-GB"), tick(at(0, 0), 30, "en-GB")]).toEqual(["2 Dec", "2 Dec", "00:00:00"]);
  });
});

describe("tables in the page", () => {
  it("are given as what stands in their cells", () => {
    document.body.innerHTML = "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td> 1\n 2</td><td><b>x</b> y</td></tr></tbody></table>";
    const table = document.querySelector("table");
    expect(table === null ? [] : cellsOf(table)).toEqual([["a", "b"], ["1 2", "x y"]]);
  });
});

describe("event streams", () => {
  const parse = (...pieces: string[]) => {
    const seen: Message[] = [];
    const parser = new SseParser((message) => seen.push(message));
    for (const piece of pieces) parser.push(piece);
    return { seen, lastId: parser.lastId };
  };

  it("are cut into messages wherever the pieces end", () => {
    const text = 'id: 7\nevent: resync\ndata: {"a":\ndata: 1}\n\ndata: x\n\n';
    const whole = parse(text).seen;
    expect(whole).toEqual([{ event: "resync", data: '{"a":\n1}', id: "7" }, { event: "message", data: "x", id: "7" }]);
    expect(parse(...text).seen).toEqual(whole);
    expect(parse(...text.replaceAll("\n", "\r\n")).seen).toEqual(whole);
  });

  it("have comments and ids without data, which are no messages", () => {
    expect(parse(": still here\n\nid: 12\n\n")).toEqual({ seen: [], lastId: "12" });
  });

  it("hold events of a known shape only", () => {
    expect([{ id: 1, kind: "a", subject: "b" }, { id: "1", kind: "a", subject: "b" }, {}, null, "x"].map(isServerEvent)).toEqual([true, false, false, false, false]);
  });
});

describe("events and what is shown", () => {
  const event = { id: 1, kind: "policy.changed", subject: "tenant/a/policy" };
  it("fit by kind and subject", () => {
    expect(isOf(event, ["policy."], undefined)).toBe(true);
    expect(isOf(event, ["node."], undefined)).toBe(false);
    expect(isOf(event, ["policy."], "tenant/a")).toBe(true);
    expect(isOf({ ...event, subject: "tenant/ab" }, ["policy."], "tenant/a")).toBe(false);
  });
});

describe("values", () => {
  it("that are not known are a dash and never 0", () => {
    expect([bps(undefined), bytes(null), duration(undefined), trim(Number.NaN), bps(Number.NaN)]).toEqual(Array(5).fill(NOTHING));
    expect(ageS(undefined, 0)).toBeUndefined();
    expect(ageS("no time", 0)).toBeUndefined();
  });
  it("have units", () => {
    expect([bps(0), bps(999), bps(200e9), bps(2.5e12), bytes(1536)]).toEqual(["0 bps", "999 bps", "200 Gbps", "2.5 Tbps", "1.5 KiB"]);
    expect([duration(119), duration(120), duration(7200), duration(172_800)]).toEqual(["119 s", "2 min", "2 h", "2 d"]);
  });
});

describe("CSV", () => {
  it("has no cell that a spreadsheet takes for a formula", () => {
    expect(["=1+1", "+a", "-a", "@a", "\tx"].map(csvCell)).toEqual(["'=1+1", "'+a", "'-a", "'@a", "'\tx"]);
    expect(csvCell(-3)).toBe("-3");
  });
  it("quotes what would end a cell", () => {
    expect(toCsv(["a", "b"], [['say "x", y', null], [1, true]])).toBe('a,b\r\n"say ""x"", y",\r\n1,true\r\n');
  });
});
