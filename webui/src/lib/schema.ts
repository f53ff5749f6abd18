/** A JSON Schema of the contract as a form: what a value can be, and what a new one begins with. */
import type { Json } from "./diff";

export type Schema = Record<string, unknown>;
const REFS_MAX = 8;
const DEPTH_MAX = 8;
const ITEMS_MAX = 16;
const isMembers = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export type Kind = "object" | "map" | "list" | "numbers" | "choice" | "flag" | "number" | "text" | "any";

/** A schema with its reference (within `root`) followed; a description beside the reference counts more. */
export function schemaOf(root: Schema, value: unknown): Schema {
  let found = isMembers(value) ? value : {};
  for (let i = 0; i < REFS_MAX && typeof found["$ref"] === "string"; i++) {
    const { $ref, ...beside } = found;
    const target = ($ref as string).replace(/^#\//, "").split("/").reduce<unknown>((at, part) => (isMembers(at) ? at[part] : undefined), root);
    found = { ...(isMembers(target) ? target : {}), ...beside };
  }
  return found;
}

export const memberSchemas = (schema: Schema): Schema => (isMembers(schema["properties"]) ? schema["properties"] : {});
export const isRequired = (schema: Schema, name: string): boolean => list(schema["required"]).includes(name);
export const hintOf = (schema: Schema, translated: (text: string) => string = (text) => text): string | undefined => {
  const text = typeof schema["description"] === "string" ? translated(schema["description"]) : undefined;
  const example = list(schema["examples"])[0];
  return typeof example === "string" ? [text, `"${example}"`].filter((part) => part !== undefined).join(" ") : text;
};
export const choicesOf = (schema: Schema): string[] => list(schema["enum"]).filter((value) => typeof value === "string");

export function kindOf(root: Schema, schema: Schema): Kind {
  if (choicesOf(schema).length > 0) return "choice";
  switch (schema["type"]) {
    case "object":
      return isMembers(schema["properties"]) ? "object" : "map";
    case "array":
      return schemaOf(root, schema["items"])["type"] === "integer" ? "numbers" : "list";
    case "boolean":
      return "flag";
    case "integer":
      return "number";
    case "string":
      return "text";
    default:
      return "any";
  }
}

/** What a value of this schema begins with: its default or example, else the least there is. */
export function blank(root: Schema, value: unknown, depth = 0): Json {
  const schema = schemaOf(root, value);
  const given = schema["default"] ?? list(schema["examples"])[0] ?? list(schema["enum"])[0];
  if (given !== undefined) return given as Json;
  if (depth >= DEPTH_MAX) return null;
  switch (schema["type"]) {
    case "object":
      return Object.fromEntries(list(schema["required"]).map((name) => [String(name), blank(root, memberSchemas(schema)[String(name)], depth + 1)]));
    case "array":
      return Array.from({ length: Math.min(Number(schema["minItems"] ?? 0), ITEMS_MAX) }, () => blank(root, schema["items"], depth + 1));
    case "boolean":
      return false;
    case "integer":
      return Number(schema["minimum"] ?? 0);
    default:
      return "";
  }
}

/** What was typed, as the schema wants it; what does not read so is left to the server's rules as text. */
export function valueOf(kind: Kind, typed: string): Json {
  const text = typed.trim();
  if (kind === "number") return /^-?\d+$/.test(text) ? Number(text) : text;
  if (kind === "numbers") return text === "" ? [] : text.split(/[\s,]+/).map((part) => (/^-?\d+$/.test(part) ? Number(part) : part));
  if (kind === "any") return /^(true|false|-?\d+)$/.test(text) ? (JSON.parse(text) as Json) : text;
  return text;
}

export function textOf(kind: Kind, value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (kind === "numbers" && Array.isArray(value)) return value.map(String).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The value at a JSON Pointer; undefined = there is none. */
export function valueAt(doc: Json | undefined, pointer: string): Json | undefined {
  return pointer
    .split("/")
    .slice(1)
    .reduce<Json | undefined>((at, part) => {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(at)) return at[Number(name)];
      return isMembers(at) ? (at[name] as Json | undefined) : undefined;
    }, doc);
}
