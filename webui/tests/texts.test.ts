import { cleanup, render } from "@testing-library/svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import ConfirmByName from "../src/components/ConfirmByName.svelte";
import ProblemBox from "../src/components/ProblemBox.svelte";
import Told from "../src/components/Told.svelte";
import { ApiProblem } from "../src/api/problem";
import { isForeign, problemText, ruleHint, ruleText, stepText, symptomText, texts } from "../src/i18n/texts.svelte";
import { lastRevision, type Meanwhile } from "../src/lib/meanwhile";
import { prefs } from "../src/lib/prefs.svelte";

const refusal = new ApiProblem(412, { status: 412, code: "precondition-failed", request_id: "r1", detail: "the tenant is at revision 3" });

afterEach(() => {
  cleanup();
  prefs.setLanguage("en");
});

describe("what the server says", () => {
  it("stands as it is in English", async () => {
    await texts.load();
    expect([problemText("precondition-failed"), ruleText("fcs-errors"), stepText("fcs", "check"), symptomText("cm-error")]).toEqual([undefined, undefined, undefined, undefined]);
    expect(render(Told, { text: "a wrong sum", known: undefined }).container.querySelector("[lang]")).toBeNull();
  });
  it("stands in Chinese by its id, and what has none is marked as English", async () => {
    prefs.setLanguage("zh");
    await texts.load();
    for (const text of [problemText("precondition-failed"), ruleText("fcs-errors"), ruleHint("fcs-errors"), stepText("fcs", "check"), stepText("fcs", "needs"), symptomText("cm-error")]) expect(text).toMatch(/\p{Script=Han}/u);
    expect(ruleText("a-newer-rule")).toBeUndefined();
    expect(render(Told, { text: "node n2: refused" }).container.querySelector('[lang="en"]')?.textContent).toBe("node n2: refused");
  });
  it("is foreign where a Chinese page shows other words than Chinese ones", () => {
    expect(isForeign("the other end went")).toBe(false);
    prefs.setLanguage("zh");
    expect(["the other end went", "端口 p0 断开", "–", "12", "4200"].map(isForeign)).toEqual([true, false, false, false, false]);
  });
  it("keeps its own words behind the Chinese of a refusal, for they name what it is about", async () => {
    prefs.setLanguage("zh");
    await texts.load();
    const box = render(ProblemBox, { problem: refusal }).container;
    expect(box.textContent).toContain(problemText("precondition-failed"));
    expect(box.querySelector('[lang="en"]')?.textContent).toBe("the tenant is at revision 3");
  });
});

describe("a deletion of what somebody else changed meanwhile", () => {
  // The DOM of these tests has no dialogs.
  beforeEach(() => {
    HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) { this.open = true; };
  });
  const ask = async (found: Meanwhile, cause: unknown = refusal) => {
    const run = vi.fn().mockRejectedValueOnce(cause).mockResolvedValueOnce(undefined);
    const close = vi.fn();
    const box = render(ConfirmByName, { name: "t1", text: "", action: "Delete", run, close, meanwhile: () => Promise.resolve(found) }).container;
    await type(box);
    submit(box);
    await vi.waitFor(() => expect(box.querySelector('[role="alert"]')).not.toBeNull());
    return { box, run, close };
  };
  const type = async (box: HTMLElement) => {
    const input = box.querySelector<HTMLInputElement>('input[name="typed"]');
    if (input === null) throw new Error("nothing to type into");
    input.value = "t1";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await vi.waitFor(() => expect(box.querySelector<HTMLButtonElement>("button.danger")?.disabled).toBe(false));
  };
  const submit = (box: HTMLElement) => box.querySelector("form")?.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true }));

  it("shows what changed and by whom, and wants the name again", async () => {
    const { box, run, close } = await ask({ before: { quota: { jobs_max: 2 } }, now: { quota: { jobs_max: 9 } }, by: { who: "eva", time: "2026-01-02T03:04:05Z", why: "more jobs" } });
    expect(box.textContent).toMatch(/eva.*more jobs/);
    expect([...box.querySelectorAll("tbody td")].map((cell) => cell.textContent?.trim())).toEqual(["/quota/jobs_max", "2", "9"]);
    expect(box.querySelector<HTMLButtonElement>("button.danger")?.disabled).toBe(true);
    submit(box);
    expect(run).toHaveBeenCalledTimes(1);
    await type(box);
    submit(box);
    await vi.waitFor(() => expect(close).toHaveBeenCalledTimes(1));
  });
  it("has nothing left to do when it is gone", async () => {
    const { box } = await ask({ before: {}, now: undefined, by: undefined }, new ApiProblem(404, { status: 404, code: "not-found", request_id: "" }));
    expect(box.querySelector("button.danger")).toBeNull();
  });
  it("stays a refusal of another kind", async () => {
    const { box } = await ask({ before: {}, now: {}, by: undefined }, new ApiProblem(409, { status: 409, code: "image-in-use", request_id: "" }));
    expect(box.querySelector('[data-code="image-in-use"]')).not.toBeNull();
  });
});

describe("who changed a document", () => {
  it("is the author of its newest revision", () => {
    const revision = (number: number) => ({ number, author: `a${number}`, created: `c${number}` });
    expect(lastRevision([revision(2), revision(10), revision(9)])).toMatchObject({ who: "a10", time: "c10" });
    expect(lastRevision([])).toBeUndefined();
  });
});
