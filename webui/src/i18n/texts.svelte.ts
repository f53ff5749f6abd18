/**
 * What the server says in English, in the language of this browser, by its stable id: a problem's code, a rule, a runbook, a step.
 * undefined = in English, or of an id that is newer than this page: then the server's own words stand there.
 */
import { prefs } from "../lib/prefs.svelte";

type Tables = typeof import("./zh_server");

class Texts {
  private all = $state.raw<Tables | undefined>(undefined);
  private asked = false;

  get zh(): Tables | undefined {
    if (prefs.language !== "zh") return undefined;
    if (!this.asked) void this.load();
    return this.all;
  }

  async load(): Promise<void> {
    this.asked = true;
    try {
      this.all = await import("./zh_server");
    } catch {
      this.asked = false; // the next one asks again; the server's words stand there until then
    }
  }
}
export const texts = new Texts();

export const problemText = (code: string): string | undefined => texts.zh?.problemsZh[code];
/** What was found. */
export const ruleText = (rule: string): string | undefined => texts.zh?.rulesZh[rule]?.[0];
/** What to do. */
export const ruleHint = (rule: string): string | undefined => texts.zh?.rulesZh[rule]?.[1];
export const symptomText = (runbook: string): string | undefined => texts.zh?.symptomsZh[runbook];
const PARTS = { check: 0, effect: 1, action: 2, needs: 3 } as const;
export const stepText = (step: string, part: keyof typeof PARTS): string | undefined => texts.zh?.stepsZh[step]?.[PARTS[part]];

/** Whether a text that a page in Chinese shows is not Chinese: for a reader of the screen. */
export const isForeign = (text: string): boolean => prefs.language === "zh" && /\p{Letter}{2}/u.test(text) && !/\p{Script=Han}/u.test(text);
