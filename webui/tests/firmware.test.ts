import { describe, expect, it } from "vitest";

import { matrices, settingsOf, windowText } from "../src/lib/firmware";
import { refusalOf, sha256 } from "../src/lib/upload";

describe("versions by board", () => {
  const item = (component: string, version: string, psid?: string) => ({ component, version, verdict: "unknown", ports: 1, staged: 0, nodes: ["n1"], ...(psid === undefined ? {} : { psid }) });
  it("stand newest first as numbers, and boards that tell no PSID last", () => {
    const [mlx, rxe] = matrices([item("rxe", "1"), item("mlx5", "28.9.1"), item("mlx5", "28.10.1", "B"), item("mlx5", "28.9.1", "A")]);
    expect(mlx?.versions).toEqual(["28.10.1", "28.9.1"]);
    expect(mlx?.boards.map((b) => b.psid)).toEqual(["A", "B", undefined]);
    expect(mlx?.boards.map((b) => b.cells.map((c) => c?.ports))).toEqual([[undefined, 1], [1, undefined], [undefined, 1]]);
    expect(rxe?.component).toBe("rxe");
  });
  it("have a minimum only where one is told", () => {
    const [one] = matrices([item("a", "1", "P"), { ...item("a", "2", "P"), minimum: "2" }, item("a", "1", "Q")]);
    expect(one?.boards.map((b) => b.minimum)).toEqual(["2", undefined]);
    expect(matrices([])).toEqual([]);
  });
});

describe("campaigns", () => {
  it("say when devices may start, and when next", () => {
    expect(windowText({ window: "closed", window_opens: "T" }, (at) => `at ${at}`)).toBe("closed, opens at T");
    expect(windowText({}, () => "never")).toBe("–");
  });
  it("have their settings a line each, whatever stands there", () => {
    const windows = [{ days: ["sat", "sun"], from: "22:00", until: "04:00" }, { from: "2100-01-02T22:00:00.000000Z", until: "b" }, 7];
    expect(settingsOf({ canary: 0, allow_downgrade: false, deadline: "30m", windows })).toEqual([["canary", "0"], ["allow_downgrade", "no"], ["deadline", "30m"], ["windows", "sat, sun 22:00 - 04:00 UTC; 2100-01-02T22:00:00Z - b; –"]]);
    expect([settingsOf(null), settingsOf({ windows: [] })]).toEqual([[], []]);
  });
});

describe("uploads", () => {
  it("are refused by the problem that the answer is, and by none when it is good", () => {
    expect(refusalOf(201, "{}")).toBeUndefined();
    expect(refusalOf(422, '{"code":"image-refused","status":422,"request_id":"r","detail":"no"}')).toMatchObject({ status: 422, code: "image-refused", detail: "no" });
    expect([refusalOf(502, "<html>")?.code, refusalOf(0, "")?.code]).toEqual(["no-problem", "no-answer"]);
  });
  it("are named by the sum of their bytes", async () => {
    const file = { arrayBuffer: () => Promise.resolve(new TextEncoder().encode("abc").buffer) } as unknown as Blob;
    expect(await sha256(file)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});
