/**
 * The one way to the REST API: typed by schemas/openapi.yaml. A refusal is thrown as ApiProblem.
 */
import createClient from "openapi-fetch";

import { isProblemBody, ApiProblem } from "./problem";
import type { components, paths } from "./types.gen";

export type Schemas = components["schemas"];

export const PAGE_SIZE = 1000;
/** Of a list that is read whole; more is said to be cut. */
export const ITEMS_MAX = 20_000;

// Relative to the page; a full address only where there is no page to be relative to (tests).
export const api = createClient<paths, "application/json">({
  baseUrl: globalThis.location === undefined ? "" : globalThis.location.origin,
  fetch: (request: Request) => globalThis.fetch(request),
});

/** What an answer was, with the tag to change it by. */
export interface Read<T> {
  data: T;
  etag: string | null;
  status: number;
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

let onUnauthenticated: () => void = () => undefined;
/** Called when the server no longer knows who we are. */
export function whenUnauthenticated(fn: () => void): void {
  onUnauthenticated = fn;
}

export function problemOf(status: number, body: unknown): ApiProblem {
  if (isProblemBody(body)) return new ApiProblem(status, body);
  return new ApiProblem(status, { status, code: "no-problem", request_id: "" });
}

/** Waits for an answer; throws ApiProblem, with code "no-answer" when none came. */
export async function read<T>(call: Promise<Answer<T>>): Promise<Read<T>> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiProblem(0, { status: 0, code: "no-answer", request_id: "" });
  }
  const { response } = answer;
  if (!response.ok) {
    const problem = problemOf(response.status, answer.error);
    problem.etag = response.headers.get("ETag");
    problem.retryAfterS = Number(response.headers.get("Retry-After") ?? Number.NaN);
    if (response.status === 401) onUnauthenticated();
    throw problem;
  }
  return { data: answer.data as T, etag: response.headers.get("ETag"), status: response.status };
}

export interface Page<T> {
  items: T[];
  next_page_token?: string;
}

/** All pages of a list, up to ITEMS_MAX; `first` gets the first one when others follow, to be shown until then. */
export async function readAll<T>(
  page: (query: { page_size: number; page_token?: string }) => Promise<Answer<Page<T>>>,
  first?: (items: readonly T[]) => void,
): Promise<{ items: T[]; cut: boolean }> {
  const items: T[] = [];
  let token: string | undefined;
  do {
    const query = token === undefined ? { page_size: PAGE_SIZE } : { page_size: PAGE_SIZE, page_token: token };
    const { data } = await read(page(query));
    items.push(...data.items);
    if (token === undefined && data.next_page_token !== undefined) first?.([...items]);
    token = data.next_page_token;
  } while (token !== undefined && items.length < ITEMS_MAX);
  return { items, cut: token !== undefined };
}

/** A key for a POST that must not happen twice. */
export function idempotencyKey(): string {
  return crypto.randomUUID();
}
