/** Something that the server does for a while: asked for until it has ended. */
import { api, read, type Schemas } from "../api/client";
import { ApiProblem } from "../api/problem";

export type Operation = Schemas["Operation"];
const EVERY_MS = 500;
const ASKED_MAX = 1200;

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Why it did not succeed, as a problem; undefined = it did. */
export function failureOf(operation: Operation): ApiProblem | undefined {
  if (operation.state === "succeeded") return undefined;
  const result: unknown = operation.result;
  const problem = isMembers(result) && isMembers(result["problem"]) ? result["problem"] : {};
  const text = (member: unknown, other: string) => (typeof member === "string" ? member : other);
  return new ApiProblem(0, { status: 0, code: text(problem["code"], operation.state), request_id: "", detail: text(problem["detail"], operation.state) });
}

/** Waits for its end; throws when it did not succeed or does not end. */
export async function ended(id: string, get: (id: string) => Promise<Operation> = ask, everyMs = EVERY_MS): Promise<Operation> {
  for (let i = 0; i < ASKED_MAX; i += 1) {
    const operation = await get(id);
    if (operation.state !== "running") {
      const failure = failureOf(operation);
      if (failure !== undefined) throw failure;
      return operation;
    }
    await new Promise((next) => setTimeout(next, everyMs));
  }
  throw new ApiProblem(0, { status: 0, code: "no-answer", request_id: "" });
}

async function ask(operation: string): Promise<Operation> {
  return (await read(api.GET("/v1/operations/{operation}", { params: { path: { operation } } }))).data;
}
