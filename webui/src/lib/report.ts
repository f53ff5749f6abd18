/** A report of health as tables. Its lists hold objects whose members this page need not know. */
import type { Schemas } from "../api/client";
import { NOTHING } from "./format";

export type ReportJob = NonNullable<Schemas["HealthReport"]["jobs"]>[number];

/** "3 / 20": below the guarantee, of those of which it is known what was sent; of nothing known no minute is told. */
export const minutesText = (job: Pick<ReportJob, "below_minutes" | "known_minutes">): string =>
  job.below_minutes === undefined || job.known_minutes === undefined ? NOTHING : `${job.below_minutes} / ${job.known_minutes}`;

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const shown = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : typeof value === "object" ? JSON.stringify(value) : String(value);

/** What a reader looks for first; what is not here follows as it comes. */
const FIRST = ["total", "ok", "critical", "warning", "unknown", "id", "severity", "node", "rule", "subject", "message", "new", "cured", "generation", "in_sync", "in_sync_percent"];
/** A row begins with what it is of. */
const NAMES = ["node", "rule"];
const byWeight = (a: string, b: string) => (FIRST.includes(a) ? FIRST.indexOf(a) : FIRST.length) - (FIRST.includes(b) ? FIRST.indexOf(b) : FIRST.length);

export interface Listed {
  heads: string[];
  /** undefined = this one does not say. */
  rows: (string | undefined)[][];
}

/** A column for each member that some row has. */
export function listed(items: unknown): Listed {
  const objects = Array.isArray(items) ? items.filter(isMembers) : [];
  const heads = [...new Set(objects.flatMap((item) => Object.keys(item)))].sort((a, b) => Number(NAMES.includes(b)) - Number(NAMES.includes(a)) || byWeight(a, b));
  return { heads, rows: objects.map((item) => heads.map((head) => shown(item[head]))) };
}

/** Numbers by name, as the report has them. */
export function numbers(value: unknown): [string, string][] {
  return isMembers(value) ? Object.entries(value).flatMap(([name, n]) => (shown(n) === undefined ? [] : [[name, shown(n) ?? ""] as [string, string]])).sort(([a], [b]) => byWeight(a, b)) : [];
}
