/** What a node reported, as rows. Reports are the node's word: each member is looked at first. */
type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const list = (value: unknown): Members[] => (Array.isArray(value) ? value.filter(isMembers) : []);
/** A value as JSON; undefined = it was not told. */
const shown = (value: unknown): string | undefined =>
  value === undefined ? undefined : typeof value === "string" ? value : JSON.stringify(value);

export interface PortRow {
  id: string;
  ifname: string | undefined;
  link: string | undefined;
  speed: number | undefined;
  mtu: number | undefined;
  rdma: string | undefined;
  driver: string | undefined;
  firmware: string | undefined;
  neighbour: string | undefined;
}

export function portRows(inventory: unknown): PortRow[] {
  return list(isMembers(inventory) ? inventory["ports"] : undefined).map((port, i) => {
    const link = isMembers(port["link"]) ? port["link"] : {};
    const far = isMembers(port["neighbour"]) ? port["neighbour"] : {};
    return {
      id: text(port["id"]) ?? String(i),
      ifname: text(port["ifname"]),
      link: text(link["state"]),
      speed: number(port["speed_bps"]),
      mtu: number(port["mtu_bytes"]),
      rdma: text(port["rdma_device"]),
      driver: text(port["driver"]),
      firmware: text(port["firmware"]),
      neighbour: [text(far["system"]) ?? text(far["chassis"]), text(far["port"])].filter((x) => x !== undefined).join(" ") || undefined,
    };
  });
}

export interface KnobRow {
  key: string;
  kind: string | undefined;
  subject: string | undefined;
  id: string | undefined;
  live: string | undefined;
  persisted: string | undefined;
  next: string | undefined;
  owner: string | undefined;
  problem: string | undefined;
}

export function knobRows(state: unknown): KnobRow[] {
  return list(isMembers(state) ? state["knobs"] : undefined).map((knob, i) => ({
    key: String(i),
    kind: text(knob["kind"]),
    subject: text(knob["subject"]),
    id: text(knob["id"]),
    live: shown(knob["live"]),
    persisted: shown(knob["persisted"]),
    next: shown(knob["next_boot"]),
    owner: text(knob["owner"]),
    problem: text(knob["problem"]),
  }));
}

export interface ReceiptRow {
  key: string;
  received: string;
  result: string | undefined;
  generation: number | undefined;
  steps: readonly Members[];
  digest: string | undefined;
  observed: string | undefined;
  problem: string | undefined;
}

export function receiptRows(items: readonly { id: number; received: string; receipt: unknown }[]): ReceiptRow[] {
  return items.map(({ id, received, receipt }) => {
    const r = isMembers(receipt) ? receipt : {};
    return {
      key: String(id),
      received,
      result: text(r["result"]),
      generation: number(r["generation"]),
      steps: list(r["steps"]),
      digest: text(r["digest"]),
      observed: text(r["observed"]),
      problem: text(r["problem"]),
    };
  });
}

export interface StepRow {
  key: string;
  text: string | undefined;
  /** "done", "undone", "not-done". */
  state: string;
  disruption: string | undefined;
  before: string | undefined;
  after: string | undefined;
  writer: string | undefined;
  problem: string | undefined;
}

export function stepRows(receipt: Pick<ReceiptRow, "steps">): StepRow[] {
  return receipt.steps.map((step, i) => ({
    key: String(i),
    text: text(step["text"]),
    state: step["undone"] === true ? "undone" : step["done"] === true ? "done" : "not-done",
    disruption: text(step["disruption"]),
    before: shown(step["before"]),
    after: shown(step["after"]),
    writer: text(step["writer"]),
    problem: text(step["problem"]),
  }));
}

export interface GidRow {
  key: string;
  device: string;
  port: number | undefined;
  index: number | undefined;
  gid: string | undefined;
  type: string | undefined;
  netdev: string | undefined;
}

export function gidRows(inventory: unknown): GidRow[] {
  const devices = list(isMembers(inventory) ? inventory["rdma_devices"] : undefined);
  return devices.flatMap((device, d) =>
    list(device["ports"]).flatMap((port) =>
      list(port["gids"]).map((gid, i) => ({
        key: `${d}/${String(port["port"])}/${i}`,
        device: text(device["name"]) ?? text(device["device"]) ?? String(d),
        port: number(port["port"]),
        index: number(gid["index"]),
        gid: text(gid["gid"]),
        type: text(gid["type"]),
        netdev: text(gid["netdev"]),
      })),
    ),
  );
}

export interface PcieRow {
  key: string;
  kind: "nic" | "gpu";
  id: string;
  name: string | undefined;
  gen: number | undefined;
  genMax: number | undefined;
  width: number | undefined;
  widthMax: number | undefined;
  numa: number | undefined;
  /** "full", "degraded"; undefined = one of the four is unknown. */
  verdict: "full" | "degraded" | undefined;
}

function pcieRow(kind: PcieRow["kind"], device: Members, i: number): PcieRow {
  const pcie = isMembers(device["pcie"]) ? device["pcie"] : {};
  const [gen, genMax, width, widthMax] = ["current_gen", "max_gen", "current_width", "max_width"].map((name) => number(pcie[name]));
  const known = gen !== undefined && genMax !== undefined && width !== undefined && widthMax !== undefined;
  return {
    key: `${kind}${i}`,
    kind,
    id: text(device["id"]) ?? String(i),
    name: text(device["product"]) ?? text(device["model"]) ?? text(device["ifname"]),
    gen, genMax, width, widthMax,
    numa: number(device["numa_node"]),
    verdict: known ? (gen >= genMax && width >= widthMax ? "full" : "degraded") : undefined,
  };
}

export function pcieRows(inventory: unknown): PcieRow[] {
  const whole = isMembers(inventory) ? inventory : {};
  return [...list(whole["ports"]).map((port, i) => pcieRow("nic", port, i)), ...list(whole["gpus"]).map((gpu, i) => pcieRow("gpu", gpu, i))];
}

export interface Happened {
  key: string;
  time: string;
  kind: string;
  subject: string;
  text: string | undefined;
  severity: string | undefined;
  incident: number | undefined;
}

interface EventLike {
  id: number;
  time: string;
  kind: string;
  subject: string;
  body: unknown;
}
interface IncidentLike {
  id: number;
  rule: string;
  severity: string;
  subject: string;
  message: string;
  opened: string;
  cleared?: string;
}

/** What an event says beside its kind: its members as they are, without what every event has. */
function bodyText(body: unknown): string | undefined {
  if (!isMembers(body)) return undefined;
  const parts = Object.entries(body).flatMap(([name, value]) => (shown(value) === undefined ? [] : [`${name} ${shown(value) ?? ""}`]));
  return parts.length === 0 ? undefined : parts.join(", ");
}

/** Changes and incidents of a node, the newest first. Events of incidents are told by the incidents. */
export function timeline(events: readonly EventLike[], incidents: readonly IncidentLike[]): Happened[] {
  const rows: Happened[] = events
    .filter((event) => !event.kind.startsWith("incident."))
    .map((event) => ({ key: `e${event.id}`, time: event.time, kind: event.kind, subject: event.subject, text: bodyText(event.body), severity: undefined, incident: undefined }));
  for (const { id, rule, severity, subject, message, opened, cleared } of incidents) {
    const common = { subject, text: `${rule}: ${message}`, incident: id };
    rows.push({ ...common, key: `o${id}`, time: opened, kind: "incident.opened", severity });
    if (cleared !== undefined) rows.push({ ...common, key: `c${id}`, time: cleared, kind: "incident.cleared", severity: undefined });
  }
  return rows.sort((a, b) => new Date(b.time).getTime() - new Date(a.time).getTime());
}
