/** What somebody else made of a thing after it was read here, and before it was to be changed: a 412, or a 404. */
import { api, read, type Read } from "../api/client";
import { ApiProblem } from "../api/problem";
import type { Json } from "./diff";

export interface Change {
  who: string;
  time: string;
  /** The message or the reason that was given with it. */
  why?: string | undefined;
}
export interface Meanwhile {
  before: Json | undefined;
  /** undefined = it is gone. */
  now: Json | undefined;
  /** What it was to become; absent = it was to go. */
  mine?: Json;
  /** undefined = nothing says so, or not to this person. */
  by: Change | undefined;
}

export const isLost = (cause: unknown): boolean => cause instanceof ApiProblem && (cause.status === 412 || cause.status === 404);

/** undefined = it is gone. */
export async function readAgain<T>(reading: Promise<Read<T>>): Promise<Read<T> | undefined> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof ApiProblem && cause.status === 404) return undefined;
    throw cause;
  }
}

/** The last change of a subject ("tenant/t1") by an action of this kind ("tenant."), as the audit tells whoever may read it. */
export async function lastChange(subject: string, kind: string): Promise<Change | undefined> {
  try {
    const { data } = await read(api.GET("/v1/audit", { params: { query: { subject, page_size: 100 } } }));
    const row = data.items.find((item) => item.subject === subject && item.action.startsWith(kind));
    return row === undefined ? undefined : { who: row.user ?? row.actor, time: row.time, why: row.reason };
  } catch (cause) {
    if (cause instanceof ApiProblem) return undefined;
    throw cause;
  }
}

/** The change that made the newest revision. */
export function lastRevision(revisions: readonly { number: number; author: string; created: string; message?: string }[]): Change | undefined {
  const newest = [...revisions].sort((a, b) => b.number - a.number)[0];
  return newest === undefined ? undefined : { who: newest.author, time: newest.created, why: newest.message };
}
