/** The table of screens: a path, what it is called, who may see it, and its file. */
import type { Component } from "svelte";

import type { Key } from "./i18n";
import { STAFF, type Role } from "./lib/session.svelte";

export interface Screen {
  path: string;
  title: Key;
  /** Who may see it; everybody who is logged in when absent. */
  roles?: readonly Role[];
  /** Stands in the menu. */
  menu?: true;
  /** The path of the menu's entry it belongs to. */
  under?: string;
  load: () => Promise<{ default: Component<Record<string, string>> }>;
}

const of = (file: Promise<unknown>) => file as Promise<{ default: Component<Record<string, string>> }>;

export const screens: readonly Screen[] = [
  { path: "/", title: "nav.overview", roles: STAFF, menu: true, load: () => of(import("./screens/Overview.svelte")) },
];
