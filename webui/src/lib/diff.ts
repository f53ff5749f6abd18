/** Documents as lines of "pointer: value", and what two changes of the same one do. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Every value with its JSON Pointer; an empty object or list is a value. */
export function leaves(value: Json | undefined, at = ""): Map<string, string> {
  const out = new Map<string, string>();
  if (value === undefined) return out;
  const inner = value !== null && typeof value === "object" ? Object.entries(value) : [];
  if (inner.length === 0) out.set(at, JSON.stringify(value));
  for (const [key, sub] of inner) {
    const name = key.replaceAll("~", "~0").replaceAll("/", "~1");
    for (const [pointer, text] of leaves(sub as Json, `${at}/${name}`)) out.set(pointer, text);
  }
  return out;
}

export interface ThreeWay {
  pointer: string;
  base: string | undefined;
  theirs: string | undefined;
  mine: string | undefined;
  /** Both changed it, to other values. */
  conflict: boolean;
}

/** Values that either side changed. */
export function threeWay(base: Json | undefined, theirs: Json | undefined, mine: Json): ThreeWay[] {
  const [b, t, m] = [leaves(base), leaves(theirs), leaves(mine)];
  const pointers = [...new Set([...b.keys(), ...t.keys(), ...m.keys()])].sort();
  return pointers
    .map((pointer) => ({ pointer, base: b.get(pointer), theirs: t.get(pointer), mine: m.get(pointer) }))
    .filter((x) => x.base !== x.theirs || x.base !== x.mine)
    .map((x) => ({ ...x, conflict: x.base !== x.theirs && x.base !== x.mine && x.theirs !== x.mine }));
}
