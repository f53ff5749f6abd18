/** The table of screens: a path, what it is called, who may see it, and its file. */
import type { Component } from "svelte";

import type { Key } from "./i18n";
import { MANAGERS, OPS, READERS, STAFF, TENANTS, type Role } from "./lib/session.svelte";

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
  { path: "/home", title: "nav.home", roles: TENANTS, menu: true, load: () => of(import("./screens/TenantHome.svelte")) },
  { path: "/report", title: "nav.report", roles: TENANTS, menu: true, load: () => of(import("./screens/TenantReport.svelte")) },
  { path: "/fabric", title: "nav.fabric", roles: STAFF, menu: true, load: () => of(import("./screens/Fabric.svelte")) },
  { path: "/nodes", title: "nav.nodes", roles: STAFF, menu: true, load: () => of(import("./screens/Nodes.svelte")) },
  { path: "/nodes/{node}", title: "nav.nodes", roles: STAFF, under: "/nodes", load: () => of(import("./screens/NodeDetail.svelte")) },
  { path: "/tenants", title: "nav.tenants", roles: STAFF, menu: true, load: () => of(import("./screens/Tenants.svelte")) },
  { path: "/tenants/{tenant}", title: "nav.tenants", under: "/tenants", load: () => of(import("./screens/TenantHome.svelte")) },
  { path: "/tenants/{tenant}/jobs/{job}", title: "nav.jobs", under: "/tenants", load: () => of(import("./screens/JobDetail.svelte")) },
  { path: "/tenants/{tenant}/jobs/{job}/placement", title: "placement.edit", under: "/tenants", load: () => of(import("./screens/Placement.svelte")) },
  { path: "/tenants/{tenant}/policy", title: "nav.policy", under: "/tenants", load: () => of(import("./screens/Policy.svelte")) },
  { path: "/tenants/{tenant}/report", title: "nav.report", under: "/tenants", load: () => of(import("./screens/TenantReport.svelte")) },
  { path: "/incidents", title: "nav.incidents", menu: true, load: () => of(import("./screens/Incidents.svelte")) },
  { path: "/incidents/{incident}", title: "nav.incidents", under: "/incidents", load: () => of(import("./screens/IncidentDetail.svelte")) },
  { path: "/runbooks", title: "nav.runbooks", roles: STAFF, menu: true, load: () => of(import("./screens/Runbooks.svelte")) },
  { path: "/runbooks/{runbook}", title: "nav.runbooks", roles: STAFF, under: "/runbooks", load: () => of(import("./screens/RunbookRun.svelte")) },
  { path: "/reports", title: "nav.reports", roles: STAFF, menu: true, load: () => of(import("./screens/Reports.svelte")) },
  { path: "/reports/{report}", title: "nav.reports", roles: STAFF, under: "/reports", load: () => of(import("./screens/ReportDetail.svelte")) },
  { path: "/rollouts", title: "nav.rollouts", roles: STAFF, menu: true, load: () => of(import("./screens/Rollouts.svelte")) },
  { path: "/rollouts/new", title: "rollout.new", roles: OPS, under: "/rollouts", load: () => of(import("./screens/RolloutNew.svelte")) },
  { path: "/rollouts/{rollout}", title: "nav.rollouts", roles: STAFF, under: "/rollouts", load: () => of(import("./screens/RolloutDetail.svelte")) },
  { path: "/firmware", title: "nav.firmware", roles: STAFF, menu: true, load: () => of(import("./screens/Firmware.svelte")) },
  { path: "/campaigns/{campaign}", title: "nav.firmware", roles: STAFF, under: "/firmware", load: () => of(import("./screens/CampaignDetail.svelte")) },
  { path: "/verifications", title: "nav.verify", roles: STAFF, menu: true, load: () => of(import("./screens/Verifications.svelte")) },
  { path: "/verifications/new", title: "verify.new", roles: OPS, under: "/verifications", load: () => of(import("./screens/VerificationNew.svelte")) },
  { path: "/verifications/{verification}", title: "nav.verify", roles: STAFF, under: "/verifications", load: () => of(import("./screens/VerificationDetail.svelte")) },
  { path: "/compatibility", title: "nav.compat", roles: STAFF, menu: true, load: () => of(import("./screens/Compatibility.svelte")) },
  { path: "/users", title: "nav.users", roles: MANAGERS, menu: true, load: () => of(import("./screens/Users.svelte")) },
  { path: "/tokens", title: "nav.tokens", menu: true, load: () => of(import("./screens/Tokens.svelte")) },
  { path: "/audit", title: "nav.audit", roles: [...READERS, "tenant-admin"], menu: true, load: () => of(import("./screens/Audit.svelte")) },
  { path: "/server", title: "nav.server", roles: STAFF, menu: true, load: () => of(import("./screens/Server.svelte")) },
  { path: "/api", title: "nav.api", menu: true, load: () => of(import("./screens/ApiExplorer.svelte")) },
  { path: "/steps", title: "nav.steps", roles: OPS, menu: true, load: () => of(import("./screens/Steps.svelte")) },
];
