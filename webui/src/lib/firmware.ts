/** Which versions run on which boards, as a table of version x PSID. */
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
