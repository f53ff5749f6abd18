import { describe, expect, it } from "vitest";

import { ended, failureOf, type Operation } from "../src/lib/operation";

const of = (state: Operation["state"], result?: Record<string, unknown>): Operation =>
  ({ id: "op-1", kind: "backup", state, actor: "a", progress: { done: 0, total: 1 }, created: "t", ...(result === undefined ? {} : { result }) }) as Operation;

describe("operations", () => {
  it("are asked for until they end", async () => {
    const states: Operation["state"][] = ["running", "running", "succeeded"];
    const got = await ended("op-1", () => Promise.resolve(of(states.shift() ?? "failed")), 1);
    expect([got.state, states.length]).toEqual(["succeeded", 0]);
  });
  it("that did not succeed say why", async () => {
    const full = of("failed", { problem: { code: "storage-full", detail: "no room in DATA/backups" } });
    await expect(ended("op-1", () => Promise.resolve(full), 1)).rejects.toMatchObject({ code: "storage-full", detail: "no room in DATA/backups" });
    expect(failureOf(of("interrupted"))).toMatchObject({ code: "interrupted" });
    expect(failureOf(of("succeeded"))).toBeUndefined();
  });
});
