/** Which versions run on which boards, as a table of version x PSID; and how a campaign goes. */
import { t } from "../i18n";
import { NOTHING } from "./format";

export interface Compliance {
  component: string;
  psid?: string;
  version: string;
  minimum?: string;
  verdict: string;
  ports: number;
  staged: number;
  nodes: readonly string[];
}

export interface Matrix {
  component: string;
  versions: string[];
  boards: { psid: string | undefined; minimum: string | undefined; cells: (Compliance | undefined)[] }[];
}

const collator = new Intl.Collator("en", { numeric: true });

/** One table a component; versions newest first, boards that tell no PSID last. A cell that is not there has no port. */
export function matrices(items: readonly Compliance[]): Matrix[] {
  const components = [...new Set(items.map((item) => item.component))].sort(collator.compare);
  return components.map((component) => {
    const own = items.filter((item) => item.component === component);
    const versions = [...new Set(own.map((item) => item.version))].sort((a, b) => collator.compare(b, a));
    const psids = [...new Set(own.map((item) => item.psid))].sort((a, b) => (a === undefined ? 1 : b === undefined ? -1 : collator.compare(a, b)));
    const boards = psids.map((psid) => {
      const row = own.filter((item) => item.psid === psid);
      return { psid, minimum: row.find((item) => item.minimum !== undefined)?.minimum, cells: versions.map((version) => row.find((item) => item.version === version)) };
    });
    return { component, versions, boards };
  });
}

/** Members of a campaign's request that its form asks for by fields of their own. */
export const OWN_FIELDS: readonly string[] = ["image", "nodes", "selector", "all", "activate", "message"];

interface Waits {
  window?: "open" | "closed" | "over";
  window_opens?: string;
}

/** "closed, opens 02/12/2026 22:00". */
export const windowText = (it: Waits, time: (text: string) => string): string =>
  it.window === undefined ? NOTHING : [t(`campaign.window.${it.window}`), ...(it.window_opens === undefined ? [] : [time(it.window_opens)])].join(" ");

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** "sat, sun 22:00 - 04:00 UTC", or from one point of time to another. */
function oneWindow(window: unknown): string {
  if (!isMembers(window)) return NOTHING;
  const days = Array.isArray(window["days"]) ? `${window["days"].map(String).join(", ")} ` : "";
  const [from, until] = [window["from"], window["until"]].map((at) => String(at).replace(/\.0+Z$/, "Z"));
  return `${days}${from} - ${until}${days === "" ? "" : " UTC"}`;
}

/** How a campaign goes, a member a line; no window = it may always start a device. */
export function settingsOf(settings: unknown): [string, string][] {
  if (!isMembers(settings)) return [];
  return Object.entries(settings).flatMap(([name, value]): [string, string][] => {
    if (Array.isArray(value)) return value.length === 0 ? [] : [[name, value.map(oneWindow).join("; ")]];
    return [[name, typeof value === "boolean" ? t(value ? "value.yes" : "value.no") : String(value)]];
  });
}
