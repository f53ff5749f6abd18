/** Refusals of the server (RFC 9457) as an exception, and what they say of a field. */

export interface Finding {
  rule: string;
  severity: string;
  subject?: string;
  pointer?: string;
  message?: string;
  observed?: string;
  limit?: string;
  hint?: string;
}

export interface ProblemBody {
  status: number;
  code: string;
  request_id: string;
  title?: string;
  detail?: string;
  errors?: Record<string, unknown>[];
}

export function isProblemBody(body: unknown): body is ProblemBody {
  return typeof body === "object" && body !== null && "code" in body && typeof body.code === "string";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
}

/** One of a problem's errors; members that are no text are left out. */
export function findingOf(value: Record<string, unknown>): Finding {
  const finding: Finding = { rule: text(value["rule"]) ?? "", severity: text(value["severity"]) ?? "error" };
  for (const key of ["subject", "pointer", "message", "observed", "limit", "hint"] as const) {
    const found = text(value[key]);
    if (found !== undefined) finding[key] = found;
  }
  return finding;
}

export class ApiProblem extends Error {
  readonly code: string;
  readonly requestId: string;
  readonly findings: Finding[];
  readonly detail: string;
  /** The current tag, of a 412. */
  etag: string | null = null;
  retryAfterS = Number.NaN;

  constructor(
    readonly status: number,
    body: ProblemBody,
  ) {
    super(body.detail ?? body.title ?? body.code);
    this.name = "ApiProblem";
    this.code = body.code;
    this.requestId = body.request_id;
    this.detail = body.detail ?? body.title ?? "";
    this.findings = (body.errors ?? []).map(findingOf);
  }
}

/** The findings that name `pointer`, or something below it. */
export function findingsAt(findings: readonly Finding[], pointer: string): Finding[] {
  return findings.filter((f) => f.pointer === pointer || (f.pointer ?? "").startsWith(pointer + "/"));
}

/** RFC 6901 */
export function pointerOf(...parts: string[]): string {
  return parts.map((part) => "/" + part.replaceAll("~", "~0").replaceAll("/", "~1")).join("");
}
