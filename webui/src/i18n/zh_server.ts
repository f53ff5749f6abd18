/** What the server says, in Chinese; read when a page needs it (texts.svelte.ts). */
export { problemsZh } from "./zh_problems";
export { rulesZh } from "./zh_rules";
export { stepsZh, symptomsZh } from "./zh_runbooks";
