import { fireEvent, render } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import DataTable from "../src/components/DataTable.svelte";
import { progressOf, requestOf, selectorOf, verbsOf, wavesOf, WAVES_MAX, type Wish } from "../src/lib/rollout";

// The DOM of these tests has no layout, and so nothing that watches sizes.
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};

const wish: Wish = { who: "all", selector: "", nodes: [], waves: "", confirm: "", timeout: "", soak: "", message: "", verify: [], verifyUnknown: false };

describe("waves", () => {
  it("are numbers or shares, in order", () => {
    expect(wavesOf("1, 10%  25%")).toEqual([{ count: 1 }, { percent: 10 }, { percent: 25 }]);
    expect(wavesOf(" ")).toEqual([]);
  });
  it("beyond a limit, or of something else, are not taken", () => {
    expect(wavesOf("100% 10000")).toEqual([{ percent: 100 }, { count: 10_000 }]);
    for (const text of ["101%", "10001", "0", "-1", "1.5%", "all", "%"]) expect([text, wavesOf(text)]).toEqual([text, undefined]);
    expect(wavesOf("1 ".repeat(WAVES_MAX))?.length).toBe(WAVES_MAX);
    expect(wavesOf("1 ".repeat(WAVES_MAX + 1))).toBeUndefined();
  });
});

describe("selectors", () => {
  it("are labels with their values", () => {
    expect(selectorOf("rack=a, gpu=")).toEqual({ rack: "a", gpu: "" });
    for (const text of ["", "rack", "=a", "rack=a rack=b", "ra ck=a", "rack=a=b"]) expect([text, selectorOf(text)]).toEqual([text, undefined]);
  });
});

describe("the request of a rollout", () => {
  it("leaves to the policy what nobody wrote", () => {
    expect(requestOf(wish)).toEqual({ body: { all: true } });
    expect(requestOf({ ...wish, verifyUnknown: true })).toEqual({ body: { all: true } });
    expect(requestOf({ ...wish, verify: ["mesh", "send_lat"], verifyUnknown: true })).toEqual({ body: { all: true, verify: { kinds: ["mesh", "send_lat"], unknown: "pass" } } });
    expect(requestOf({ ...wish, who: "nodes", nodes: ["n1"], waves: "1", confirm: "manual", soak: "0s", timeout: "60s", message: "m" })).toEqual({
      body: { nodes: ["n1"], waves: [{ count: 1 }], confirm: "manual", soak: "0s", confirm_timeout: "60s", message: "m" },
    });
    expect(requestOf({ ...wish, who: "selector", selector: "rack=a", nodes: ["n1"] })).toEqual({ body: { selector: { rack: "a" } } });
  });
  it("is none when something cannot be read, and says what", () => {
    expect(requestOf({ ...wish, waves: "some" })).toEqual({ wrong: "waves" });
    expect(requestOf({ ...wish, who: "selector" })).toEqual({ wrong: "selector" });
    expect(requestOf({ ...wish, who: "nodes" })).toEqual({ wrong: "nodes" });
  });
});

describe("progress", () => {
  it("has every state that a node is in, the furthest first, and new ones last", () => {
    expect(progressOf({ waiting: 2, confirmed: 1, failed: 0, strange: 1 })).toEqual({
      total: 4, done: 1, parts: [{ state: "confirmed", n: 1 }, { state: "waiting", n: 2 }, { state: "strange", n: 1 }],
    });
  });
});

describe("what can be asked of a rollout", () => {
  const verbs = (state: string, ...waves: string[]) => verbsOf({ state, waves: waves.map((wave) => ({ state: wave })) });
  it("is what the server allows in its state", () => {
    expect(verbs("running", "open")).toEqual(["pause", "rollback"]);
    expect(verbs("confirming", "passed", "waiting")).toEqual(["confirm", "rollback"]);
    expect(verbs("paused", "soaking")).toEqual(["resume", "rollback"]);
    expect(verbs("paused", "passed")).toEqual(["resume", "confirm", "rollback"]);
    expect(verbs("done", "confirmed")).toEqual(["rollback"]);
    for (const state of ["preparing", "rolling-back", "rolled-back"]) expect([state, verbs(state)]).toEqual([state, []]);
  });
});

describe("rows of a table", () => {
  it("are chosen one by one or all that are shown", async () => {
    let told: string[] = [];
    const rows = [{ name: "a" }, { name: "b" }];
    const columns = [{ id: "name", title: "Name", value: (row: { name: string }) => row.name }];
    const { getByLabelText } = render(DataTable<{ name: string }>, { label: "t", name: "t", rows, columns, keyOf: (row: { name: string }) => row.name, chosen: ["a"], choose: (keys: string[]) => (told = keys) });
    expect((getByLabelText("Choose a") as HTMLInputElement).checked).toBe(true);
    await fireEvent.click(getByLabelText("Choose b"));
    expect(told).toEqual(["a", "b"]);
    await fireEvent.click(getByLabelText("Choose a"));
    expect(told).toEqual([]);
    await fireEvent.click(getByLabelText("Choose all shown"));
    expect(told).toEqual(["a", "b"]);
  });
});
