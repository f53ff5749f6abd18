/** A tenant's policy as text and as a form: the text is what counts, the form changes it. */
import type { Json } from "./diff";

export type Members = { [key: string]: Json };
export const FIELDS = ["priority", "bw_guarantee", "bw_limit", "demand"] as const;
export type FieldName = (typeof FIELDS)[number];

const isMembers = (value: Json | undefined): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

export interface Parsed {
  doc: Json | undefined;
  /** Why the text is no JSON. */
  error: string | undefined;
}

export function parse(text: string): Parsed {
  try {
    return { doc: JSON.parse(text) as Json, error: undefined };
  } catch (cause) {
    return { doc: undefined, error: cause instanceof Error ? cause.message : String(cause) };
  }
}

export const print = (doc: Json): string => JSON.stringify(doc, null, 2);

/** The jobs of a document; [] when it has none that a form can show. */
export function jobsOf(doc: Json | undefined): [string, Members][] {
  const jobs = isMembers(doc) ? doc["qos_policy"] : undefined;
  return isMembers(jobs) ? Object.entries(jobs).filter((entry): entry is [string, Members] => isMembers(entry[1])) : [];
}

function withJobs(doc: Json | undefined, change: (jobs: Members) => Members): Json {
  const whole = isMembers(doc) ? doc : {};
  const jobs = isMembers(whole["qos_policy"]) ? whole["qos_policy"] : {};
  return { ...whole, qos_policy: change(jobs) };
}

/** "" takes a member away; a priority is a number when it reads as one. */
export function setField(doc: Json | undefined, job: string, field: FieldName, text: string): Json {
  return withJobs(doc, (jobs) => {
    const old = isMembers(jobs[job]) ? jobs[job] : {};
    const next: Members = { ...old };
    if (text === "") delete next[field];
    else next[field] = field === "priority" && /^\d+$/.test(text) ? Number(text) : text;
    return { ...jobs, [job]: next };
  });
}

export function addJob(doc: Json | undefined, job: string): Json {
  return withJobs(doc, (jobs) => (job in jobs ? jobs : { ...jobs, [job]: { priority: 0 } }));
}

export function removeJob(doc: Json | undefined, job: string): Json {
  return withJobs(doc, (jobs) => Object.fromEntries(Object.entries(jobs).filter(([name]) => name !== job)));
}

/** Members of a job that stand below its four fields. */
export const isOther = (name: string): boolean => name !== "" && !FIELDS.some((field) => field === name);

/** Changes all members of a job but its four fields. */
export function setOthers(doc: Json | undefined, job: string, others: Json): Json {
  return withJobs(doc, (jobs) => {
    const old = isMembers(jobs[job]) ? jobs[job] : {};
    const kept = Object.fromEntries(Object.entries(old).filter(([name]) => !isOther(name)));
    return { ...jobs, [job]: { ...kept, ...(isMembers(others) ? others : {}) } };
  });
}
