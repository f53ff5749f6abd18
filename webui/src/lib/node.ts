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
  steps: number;
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
      steps: list(r["steps"]).length,
      digest: text(r["digest"]),
      observed: text(r["observed"]),
      problem: text(r["problem"]),
    };
  });
}
