/** The contract's own words beside a field, in the language of this browser; what has no Chinese yet stays English. */
import { hintsZh } from "../i18n/zh_hints";
import { prefs } from "./prefs.svelte";
import { hintOf, type Schema } from "./schema";

export const hint = (schema: Schema): string | undefined => hintOf(schema, prefs.language === "zh" ? (text) => hintsZh[text] ?? text : undefined);
