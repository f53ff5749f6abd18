/** The contract, read once; its schemas of documents make forms and hints. */
import { api, read } from "../api/client";
import type { Schema } from "./schema";

let whole: Promise<unknown> | undefined;

export function contract(): Promise<unknown> {
  whole ??= read(api.GET("/openapi.json")).then(
    ({ data }) => data as unknown,
    (cause: unknown) => {
      whole = undefined; // the next one asks again
      throw cause;
    },
  );
  return whole;
}

const isMembers = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);

/** A schema of the contract; {} = it has none of that name. */
export async function documentSchema(name: string): Promise<Schema> {
  const root = await contract();
  const parts = isMembers(root) && isMembers(root["components"]) ? root["components"]["schemas"] : undefined;
  const schema = isMembers(parts) ? parts[name] : undefined;
  return isMembers(schema) ? schema : {};
}
