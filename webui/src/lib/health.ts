/** What incidents and runs of runbooks say, made ready to be shown. */
import type { Schemas } from "../api/client";

export type Run = Schemas["RunbookRun"];
export type Evidence = Run["steps"][number]["evidence"][number];

/** Limits of a run (POST /v1/runbooks/{runbook}:run). */
export const NODES_MAX = 64;
export const FILES_MAX = 32;
export const FILES_BYTES_MAX = 16 * 2 ** 20;

interface Runbook {
  name: string;
  steps: readonly { step: string; rules: readonly string[] }[];
}

/** Runbooks with a step that asks for what the rule found; the one that asks first stands first. */
export function runbooksFor(runbooks: readonly Runbook[], rule: string): { name: string; step: string }[] {
  return runbooks
    .map(({ name, steps }) => ({ name, at: steps.findIndex((step) => step.rules.includes(rule)), steps }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ name, at, steps }) => ({ name, step: steps[at]?.step ?? "" }));
}

/** "12 frames", "≥ 3"; undefined = it is not known. */
export function observedText(evidence: Evidence): string | undefined {
  if (evidence.state === "unknown" || evidence.observed === undefined) return undefined;
  const value = evidence.unit === undefined ? evidence.observed : `${evidence.observed} ${evidence.unit}`;
  return evidence.state === "at-least" ? `≥ ${value}` : value;
}

/** Faults first, then what is not known; the order of the runbook within each. */
export function byWeight<S extends { verdict: string }>(steps: readonly S[]): S[] {
  const weight = (step: S) => ["fault", "unknown", "ok"].indexOf(step.verdict) & 3;
  return [...steps].sort((a, b) => weight(a) - weight(b));
}

/** Why the files cannot go along; undefined = they can. */
export function filesTooMuch(files: readonly { size: number }[]): "count" | "bytes" | undefined {
  if (files.length > FILES_MAX) return "count";
  return files.reduce((sum, file) => sum + file.size, 0) > FILES_BYTES_MAX ? "bytes" : undefined;
}

/** What an incident is on, as an exclusion names it: a job of a tenant stays under its tenant. */
export function subjectOf(incident: { subject: string; node?: string; tenant?: string }): string {
  if (/^(node|tenant)\//.test(incident.subject)) return incident.subject;
  if (incident.node !== undefined) return `node/${incident.node}`;
  return incident.tenant === undefined ? incident.subject : `tenant/${incident.tenant}`;
}

export function inDays(days: number, now: number): string {
  return new Date(now + days * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The most severe first; of equal ones the newest. */
export function worstFirst<T extends { severity: string; id: number }>(items: readonly T[]): T[] {
  const weight = (item: T) => (item.severity === "critical" ? 0 : item.severity === "warning" ? 1 : 2);
  return [...items].sort((a, b) => weight(a) - weight(b) || b.id - a.id);
}
