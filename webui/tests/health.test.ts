import { render } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import { byWeight, FILES_BYTES_MAX, FILES_MAX, filesTooMuch, inDays, observedText, runbooksFor, subjectOf, worstFirst, type Run } from "../src/lib/health";
import { listed, numbers } from "../src/lib/report";
import RunView from "../src/screens/RunView.svelte";

describe("incidents", () => {
  it("lead to the runbooks whose steps ask for their rule, the earliest step first", () => {
    const step = (name: string, ...rules: string[]) => ({ step: name, rules });
    const books = [{ name: "a", steps: [step("x"), step("y", "fcs-errors")] }, { name: "b", steps: [step("z", "fcs-errors")] }, { name: "c", steps: [] }];
    expect(runbooksFor(books, "fcs-errors")).toEqual([{ name: "b", step: "z" }, { name: "a", step: "y" }]);
    expect(runbooksFor(books, "other")).toEqual([]);
  });
  it("are shown the worst first, of equal ones the newest", () => {
    const of = (id: number, severity: string) => ({ id, severity });
    const items = [of(1, "warning"), of(2, "new-word"), of(3, "critical"), of(4, "critical"), of(5, "warning")];
    expect(worstFirst(items).map((item) => item.id)).toEqual([4, 3, 5, 1, 2]);
    expect(items[0]?.id).toBe(1);
  });
  it("are accepted by what an exclusion can name", () => {
    expect(subjectOf({ subject: "node/n1/port/p0", node: "n1" })).toBe("node/n1/port/p0");
    expect(subjectOf({ subject: "link n1", node: "n1" })).toBe("node/n1");
    expect(subjectOf({ subject: "job x", tenant: "a" })).toBe("tenant/a");
  });
  it("are accepted until a time of whole seconds", () => {
    expect(inDays(2, Date.UTC(2026, 0, 30, 1, 2, 3, 456))).toBe("2026-02-01T01:02:03Z");
  });
});

describe("files of a run", () => {
  it("are at most so many and so large, and not one more", () => {
    const of = (n: number, size: number) => Array.from({ length: n }, () => ({ size }));
    expect(filesTooMuch(of(FILES_MAX, 1))).toBeUndefined();
    expect(filesTooMuch(of(FILES_MAX + 1, 1))).toBe("count");
    expect(filesTooMuch(of(1, FILES_BYTES_MAX))).toBeUndefined();
    expect(filesTooMuch(of(1, FILES_BYTES_MAX + 1))).toBe("bytes");
  });
});

describe("a run of a runbook", () => {
  const evidence = (state: "known" | "unknown" | "at-least", observed?: string) => ({ source: "telemetry", name: "rx_fcs_errors", state, ...(observed === undefined ? {} : { observed, unit: "frames" }) });
  it("never shows what is not known as a number", () => {
    expect([observedText(evidence("known", "0")), observedText(evidence("unknown", "0")), observedText(evidence("known"))]).toEqual(["0 frames", undefined, undefined]);
    expect(observedText(evidence("at-least", "3"))).toBe("≥ 3 frames");
  });
  it("has faults first, then what is unknown, in the order of the runbook", () => {
    const steps = ["ok", "not-applicable", "unknown", "fault", "ok"].map((verdict, i) => ({ verdict, i }));
    expect(byWeight(steps).map((s) => s.i)).toEqual([3, 2, 0, 4, 1]);
  });
  it("shows causes with what to do, and text of nodes as text", () => {
    const run: Run = {
      node: "n1", verdict: "fault", excluded: [], open: [],
      likely: [{ step: "fcs", strength: "strong", why: "12 <b>frames</b>", effect: "lost", action: "replace the cable" }],
      steps: [{ step: "fcs", check: "c", verdict: "fault", why: "w", evidence: [evidence("unknown")] }],
    };
    const { container, getByText } = render(RunView, { run });
    expect(getByText("12 <b>frames</b>")).toBeTruthy();
    expect(container.textContent).toContain("replace the cable");
    expect(container.querySelector("details")?.textContent).toContain("unknown");
  });
});

describe("reports", () => {
  it("have a column for each member that a row has; what a row lacks stays unknown", () => {
    expect(listed([{ rule: "a", n: 0 }, { rule: "b", more: { x: 1 } }, 7])).toEqual({ heads: ["rule", "n", "more"], rows: [["a", "0", undefined], ["b", undefined, '{"x":1}']] });
    expect(listed(undefined)).toEqual({ heads: [], rows: [] });
  });
  it("begin with what a row is of, and numbers with the sum", () => {
    expect(listed([{ critical: 0, node: "n1", warning: 2, zebra: 1 }]).heads).toEqual(["node", "critical", "warning", "zebra"]);
    expect(numbers({ critical: 1, ok: 2, total: 3 }).map(([name]) => name)).toEqual(["total", "ok", "critical"]);
  });
  it("have numbers by name, and none where there is none", () => {
    expect(numbers({ ok: 0, total: null })).toEqual([["ok", "0"]]);
    expect(numbers([1])).toEqual([]);
  });
});
