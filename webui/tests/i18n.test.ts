import { describe, expect, it } from "vitest";

import { fill, tables, word } from "../src/i18n";
import { en, type Key } from "../src/i18n/en";

const keys = Object.keys(en) as Key[];
const names = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();

describe("translations", () => {
  it("have the places for values that the English text has", () => {
    for (const [language, table] of Object.entries(tables))
      for (const key of keys) expect([language, key, names(table[key])]).toEqual([language, key, names(en[key])]);
  });
  it("are texts, and no Chinese one was left in English", () => {
    const same = keys.filter((key) => /[a-z]{4}/.test(en[key]) && tables.zh[key] === en[key] && !/^(Stellar|CSV|JSON)$/.test(en[key]));
    expect(same).toEqual([]);
    expect(keys.filter((key) => tables.zh[key].trim() === "")).toEqual([]);
  });
  it("leave a place without a value as it is", () => {
    expect(fill("{n} of {m}", { n: 1 })).toBe("1 of {m}");
  });
  it("show words that the server has and this page has not", () => {
    expect(word("sync", "new-state")).toBe("new-state");
    expect(word("sync", "in-sync")).not.toBe("in-sync");
  });
});
