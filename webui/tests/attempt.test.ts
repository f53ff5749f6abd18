import { describe, expect, it } from "vitest";

import { ApiProblem } from "../src/api/problem";
import { Attempt, because } from "../src/lib/attempt.svelte";

describe("an attempt", () => {
  it("keeps what was said against it until the next one", async () => {
    const attempt = new Attempt();
    const refused = new ApiProblem(422, { status: 422, code: "refused", request_id: "r", errors: [{ rule: "x", pointer: "/name" }] });
    expect(await attempt.run(() => Promise.reject(refused))).toBe(false);
    expect([attempt.problem, attempt.findings.length, attempt.busy]).toEqual([refused, 1, false]);
    expect(await attempt.run(() => Promise.resolve(1))).toBe(true);
    expect([attempt.problem, attempt.findings]).toEqual([null, []]);
  });
  it("does not begin twice", async () => {
    const attempt = new Attempt();
    let end: (value: unknown) => void = () => undefined;
    const first = attempt.run(() => new Promise((done) => (end = done)));
    expect(await attempt.run(() => Promise.reject(new Error("second")))).toBe(false);
    end(undefined);
    expect(await first).toBe(true);
    expect(attempt.problem).toBeNull();
  });
  it("has a reason only when one was given", () => {
    expect([because("  "), because(" moved ")]).toEqual([{}, { reason: "moved" }]);
  });
});
