/** What a table shows of its rows: found, ordered, and which of them stand in the window. */
import type { Cell } from "./csv";

export interface Column<Row> {
  id: string;
  title: string;
  /** What is ordered, found and exported. */
  value: (row: Row) => Cell;
  /** How it is shown; else as it is. */
  text?: (row: Row) => string;
  /** Shown as a state, with words of this kind. */
  badge?: string;
  href?: (row: Row) => string | undefined;
  /** In pixels; the others share what is left. */
  width?: number;
  num?: boolean;
  mono?: boolean;
  /** Words of the server or of a node, which may be English in any language. */
  told?: boolean;
  /** Not shown at first. */
  hidden?: boolean;
}

// Pixels of a bold letter of 13 px, of a Chinese one, and of what stands beside a title.
const LETTER = 8;
const WIDE_LETTER = 14;
const BESIDE_TITLE = 40;

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compare(a: Cell, b: Cell): number {
  // What is not known stands last in either order; see ordered().
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

const isNothing = (cell: Cell) => cell === null || cell === undefined || cell === "";

export function ordered<Row>(rows: readonly Row[], value: (row: Row) => Cell, down: boolean): Row[] {
  const known = rows.filter((row) => !isNothing(value(row)));
  const others = rows.filter((row) => isNothing(value(row)));
  known.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
  return [...known, ...others];
}

/** Rows with every word of the text in some column. */
export function filtered<Row>(rows: readonly Row[], texts: (row: Row) => string[], wanted: string): Row[] {
  const words = wanted.toLowerCase().split(/\s+/).filter((w) => w !== "");
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const all = texts(row).join("\u0000").toLowerCase();
    return words.every((w) => all.includes(w));
  });
}

/** Pixels that a column has: its own, and never fewer than its title needs with the mark of its order. */
export function widthOf(column: { title: string; width?: number }): number {
  const title = [...column.title].reduce((sum, letter) => sum + (letter > "\u2e7f" ? WIDE_LETTER : LETTER), 0);
  return Math.max(column.width ?? 0, Math.ceil(title) + BESIDE_TITLE);
}

/** The rows [from, to) that a window of `height` at `top` shows, and some beside it. */
export function visible(count: number, top: number, height: number, row: number): { from: number; to: number } {
  const spare = 12;
  const from = Math.max(0, Math.min(count, Math.floor(top / row)) - spare);
  return { from, to: Math.min(count, Math.ceil((top + height) / row) + spare) };
}

/** What stands in a table, a row each; what is only for one of eyes and ears stands there once. */
export function cellsOf(table: HTMLTableElement): string[][] {
  return [...table.rows].map((row) => [...row.cells].map((cell) => (cell.textContent ?? "").replace(/\s+/g, " ").trim()));
}
