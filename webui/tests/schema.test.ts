import { cleanup, render, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";

import { ApiProblem } from "../src/api/problem";
import SchemaForm from "../src/components/SchemaForm.svelte";
import type { Json } from "../src/lib/diff";
import { Editor, type Door } from "../src/lib/editor.svelte";
import { hint } from "../src/lib/hint";
import { isOther, setOthers } from "../src/lib/policy";
import { prefs } from "../src/lib/prefs.svelte";
import { blank, hintOf, kindOf, schemaOf, textOf, valueAt, valueOf } from "../src/lib/schema";

const root = {
  type: "object",
  required: ["list"],
  properties: {
    list: { type: "array", minItems: 1, items: { $ref: "#/$defs/one" } },
    mtu: { type: "integer", minimum: 1280, description: "MTU." },
    kind: { enum: ["a", "b"] },
    dscps: { type: "array", items: { type: "integer" } },
    names: { type: "object", additionalProperties: { type: "string" } },
    loop: { $ref: "#/properties/loop" },
  },
  $defs: { one: { type: "object", required: ["priority"], properties: { priority: { type: "integer", minimum: 0 }, rate: { $ref: "#/$defs/rate", description: "Its rate." } } }, rate: { type: "string", examples: ["40%"], description: "A rate." } },
};

afterEach(cleanup);

describe("hints", () => {
  it("are in the language of the browser, and as they are where that has none", () => {
    prefs.language = "zh";
    expect([hint({ description: "802.1p priority." }), hint({ description: "Quite new." }), hint({})]).toEqual(["802.1p 优先级。", "Quite new.", undefined]);
    prefs.language = "en";
    expect(hint({ description: "802.1p priority.", examples: ["3"] })).toBe('802.1p priority. "3"');
  });
});

describe("schemas", () => {
  it("say what a value can be, with references followed to an end", () => {
    const kinds = Object.fromEntries(Object.entries(root.properties).map(([name, schema]) => [name, kindOf(root, schemaOf(root, schema))]));
    expect(kinds).toEqual({ list: "list", mtu: "number", kind: "choice", dscps: "numbers", names: "map", loop: "any" });
    expect(hintOf(schemaOf(root, root.$defs.one.properties.rate))).toBe('Its rate. "40%"');
  });
  it("begin a new value with the least that there must be", () => {
    expect(blank(root, root)).toEqual({ list: [{ priority: 0 }] });
    expect([blank(root, root.properties.mtu), blank(root, root.properties.kind), blank(root, root.$defs.rate)]).toEqual([1280, "a", "40%"]);
  });
  it("take what was typed as numbers where it reads so, else leave it to the rules", () => {
    expect([valueOf("number", "9"), valueOf("number", "9x"), valueOf("numbers", "26, 27 x"), valueOf("numbers", ""), valueOf("any", "true"), valueOf("text", " a ")]).toEqual([9, "9x", [26, 27, "x"], [], true, "a"]);
    expect([textOf("numbers", [1, 2]), textOf("text", undefined), textOf("any", { a: 1 })]).toEqual(["1, 2", "", '{"a":1}']);
  });
  it("find values by their pointers", () => {
    expect([valueAt({ "a/b": [{ c: 1 }] }, "/a~1b/0/c"), valueAt({ a: 1 }, "/a/b"), valueAt(undefined, "/a")]).toEqual([1, undefined, undefined]);
  });
});

describe("a form of a schema", () => {
  it("shows what is there, what the rules say of it, and what the schema does not know", () => {
    const value: Json = { mtu: 9, odd: "x", list: [] };
    render(SchemaForm, { root, schema: root, name: "doc", at: "", value, findings: [{ rule: "schema", severity: "error", pointer: "/mtu", message: "too small" }], change: () => undefined });
    expect(screen.getByLabelText("mtu").getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByText(/too small/)).toBeTruthy();
    expect(screen.getByDisplayValue("x")).toBeTruthy();
    expect(screen.queryByLabelText("kind")).toBeNull();
  });
});

describe("members of a job below its four fields", () => {
  it("are changed by themselves", () => {
    const doc = { qos_policy: { a: { priority: 3, bw_limit: "9%", description: "old" } } };
    expect(setOthers(doc, "a", { latency_class: "latency" })).toEqual({ qos_policy: { a: { priority: 3, bw_limit: "9%", latency_class: "latency" } } });
    expect([isOther("solar"), isOther("priority"), isOther("")]).toEqual([true, false, false]);
  });
});

describe("an editor", () => {
  const stale = () => new ApiProblem(412, { status: 412, code: "precondition-failed", request_id: "r1" });
  const made = (change: Partial<Door> = {}) =>
    new Editor({ read: () => Promise.resolve({ doc: { a: 1 }, etag: '"1"' }), check: () => Promise.resolve([]), write: (_doc, header) => Promise.resolve({ etag: JSON.stringify(header), data: { revision: 2, findings: [] } }), ...change } as Door, "{}");
  it("stores against the tag that it read, and not what cannot be read", async () => {
    const editor = made();
    await editor.load();
    editor.text = "{";
    await editor.put(false);
    expect(editor.saved).toBeNull();
    editor.text = '{"a": 2}';
    await editor.put(false);
    expect([editor.saved, editor.etag, editor.changed]).toEqual([2, '{"If-Match":"\\"1\\""}', false]);
  });
  it("keeps what one wrote when somebody else was first, and stores it against the new tag only when asked to", async () => {
    const editor = made({ write: () => Promise.reject(stale()) });
    await editor.load();
    editor.text = '{"a": 2}';
    await editor.put(false);
    expect([editor.theirs?.doc, editor.text]).toEqual([{ a: 1 }, '{"a": 2}']);
    editor.keepMine();
    expect([editor.theirs, editor.text, editor.etag]).toEqual([null, '{"a": 2}', '"1"']);
  });
  it("forgets an answer about a text that has been changed again", async () => {
    const editor = made({ check: () => Promise.resolve([{ rule: "old", severity: "error" }]) });
    await editor.load();
    const before = editor.parsed.doc;
    editor.text = '{"a": 3}';
    if (before !== undefined) await editor.check(before);
    expect(editor.findings).toEqual([]);
  });
});
