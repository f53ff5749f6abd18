/** The contract as the server tells it (/openapi.json), as far as the explorer shows it. */
type Members = Record<string, unknown>;
const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const METHODS = ["get", "post", "put", "patch", "delete"];
const REFS_MAX = 8;

export interface Parameter {
  name: string;
  where: string;
  required: boolean;
  description: string;
  /** What it can be, when that is a short list. */
  choices: string[];
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  group: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  /** An example of its body; undefined = it takes none, or none is given. */
  body: string | undefined;
  answers: { status: string; description: string; example: string | undefined }[];
}

/** Follows references within the document; undefined = there is no such thing. */
export function resolve(root: unknown, value: unknown): Members | undefined {
  let found: unknown = value;
  for (let i = 0; i < REFS_MAX && isMembers(found) && typeof found["$ref"] === "string"; i++) {
    const parts = text(found["$ref"]).replace(/^#\//, "").split("/");
    found = parts.reduce<unknown>((at, part) => (isMembers(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined), root);
  }
  return isMembers(found) ? found : undefined;
}

function exampleOf(root: unknown, content: unknown): string | undefined {
  if (!isMembers(content)) return undefined;
  for (const [type, media] of Object.entries(content)) {
    const examples = isMembers(media) && isMembers(media["examples"]) ? Object.values(media["examples"]) : [];
    const value = resolve(root, examples[0])?.["value"];
    if (value === undefined) continue;
    return typeof value === "string" && !type.includes("json") ? value : JSON.stringify(value, null, 2);
  }
  return undefined;
}

function parameterOf(root: unknown, value: unknown): Parameter[] {
  const one = resolve(root, value);
  if (one === undefined) return [];
  const choices = resolve(root, one["schema"])?.["enum"];
  return [{ name: text(one["name"]), where: text(one["in"]), required: one["required"] === true, description: text(one["description"]), choices: Array.isArray(choices) ? choices.map(String) : [] }];
}

function operationOf(root: unknown, path: string, method: string, shared: unknown[], one: Members): Operation {
  const own = Array.isArray(one["parameters"]) ? one["parameters"] : [];
  const answers = isMembers(one["responses"]) ? Object.entries(one["responses"]) : [];
  const parameters = [...shared, ...own].flatMap((value) => parameterOf(root, value));
  // What the path names and no list does.
  for (const [, name = ""] of path.matchAll(/\{(\w+)\}/g))
    if (!parameters.some((parameter) => parameter.name === name)) parameters.unshift({ name, where: "path", required: true, description: "", choices: [] });
  return {
    id: text(one["operationId"]),
    method: method.toUpperCase(),
    path,
    group: /^\/v1\/(?:agent|[^/:]+)/.exec(path)?.[0].slice(4) ?? "",
    summary: text(one["summary"]),
    description: text(one["description"]),
    parameters,
    body: exampleOf(root, resolve(root, one["requestBody"])?.["content"]),
    answers: answers.map(([status, value]) => {
      const answer = resolve(root, value) ?? {};
      return { status, description: text(answer["description"]), example: exampleOf(root, answer["content"]) };
    }),
  };
}

export function operationsOf(root: unknown): Operation[] {
  const paths = isMembers(root) && isMembers(root["paths"]) ? Object.entries(root["paths"]) : [];
  return paths.flatMap(([path, item]) => {
    if (!isMembers(item)) return [];
    const shared = Array.isArray(item["parameters"]) ? item["parameters"] : [];
    return METHODS.flatMap((method) => {
      const one = item[method];
      return isMembers(one) ? [operationOf(root, path, method, shared, one)] : [];
    });
  });
}

/** The address of a request; parameters without a value are left out, but those of the path stay as they are. */
export function addressOf(operation: Operation, values: Readonly<Record<string, string>>): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name] ?? "";
    return value === "" ? whole : encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const { name, where } of operation.parameters) if (where === "query" && (values[name] ?? "") !== "") query.set(name, values[name] ?? "");
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

const quoted = (value: string) => `'${value.replaceAll("'", "'\\''")}'`;

/** The same request for a shell; the token stays a variable. */
export function curlOf(operation: Operation, values: Readonly<Record<string, string>>, origin: string, body: string): string {
  const lines = [`curl -X ${operation.method} ${quoted(origin + addressOf(operation, values))}`, '-H "Authorization: Bearer $STELLAR_TOKEN"'];
  for (const { name, where } of operation.parameters) if (where === "header" && (values[name] ?? "") !== "") lines.push(`-H ${quoted(`${name}: ${values[name] ?? ""}`)}`);
  if (operation.method !== "GET" && body !== "") lines.push("-H 'Content-Type: application/json'", `--data ${quoted(body)}`);
  return lines.join(" \\\n  ");
}
