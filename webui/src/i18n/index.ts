/** t("key", { n: 3 }): the text in the language of this browser. Reactive. */
import { prefs, type Language } from "../lib/prefs.svelte";
import { en, type Key, type Table } from "./en";
import { zh } from "./zh";

export type { Key } from "./en";

export const tables: Record<Language, Table> = { en, zh };
export const languages: Record<Language, string> = { en: "English", zh: "中文" };

export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

export function t(key: Key, values: Record<string, string | number> = {}): string {
  return fill(tables[prefs.language][key], values);
}

/** For words of the server that may be newer than this page: they show as they are. */
export function word(prefix: string, value: string): string {
  const key = `${prefix}.${value}`;
  return key in en ? t(key as Key) : value;
}

/** For toLocaleString(). */
export function locale(): string {
  return prefs.language === "zh" ? "zh-CN" : "en-GB";
}
