// The whole way in one go: from an empty server to a report in Chinese, by mouse or by keyboard alone.
// See tests/web/check_journey.py and check_keyboard.py.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { adminToken, bring, byKeyboard, call, choose, done, equal, inspect, launch, noFaults, open, PASSWORD, press, test, until, url, way, write } from "./browser.mjs";

const SEED = { qos_policy: { cv_job: { bw_limit: "60%", priority: 2 }, nlp_job: { bw_guarantee: "40%", priority: 3 } } };
const NODES = ["n1", "n2"];
const AS = byKeyboard ? "keyboard" : "journey";
const folder = process.env.STELLAR_FOLDER;
const END_MS = 10_000;
const agents = new Map();

/** The command that the page gave, on a pretended node. */
function start(node, argv) {
  const child = spawn(join(process.env.STELLAR_OBJ, "stellar-agent"), [...argv, "--state-dir", join(folder, node), "--provider", "sim"], { stdio: "ignore" });
  agents.set(node, { child, argv });
}
async function end(node) {
  const { child } = agents.get(node);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((next) => child.once("exit", next));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await ended;
  clearTimeout(timer);
}
const ofNode = async (node) => (await call("GET", `/v1/nodes/${node}`)).json;
const inSync = (node) => until(async () => (await ofNode(node)).in_sync, `${node} in sync`);

const browser = await launch();
try {
  const admin = await open(browser);
  await test("first run: the token of the data folder makes the first administrator", async () => {
    await admin.goto(url + "/");
    await press(admin, admin.getByRole("link", { name: /First start/ }));
    await write(admin, admin.getByLabel(/Token from/), adminToken);
    await write(admin, admin.getByLabel("Name of the new administrator"), "eva");
    await write(admin, admin.getByLabel("Password"), PASSWORD);
    await press(admin, admin.getByRole("button", { name: "Make the administrator" }));
    await admin.getByRole("button", { name: "Log out" }).waitFor();
  });
  await test("the profile is stored", async () => {
    await way(admin, "/steps", "First steps", "First steps");
    await press(admin, admin.getByRole("button", { name: "Store this profile" }));
    await until(async () => (await call("GET", "/v1/fabric")).status === 200, "the profile");
  });
  await test("nodes are enrolled by the command that the page gives, and are heard at once", async () => {
    for (const node of NODES) {
      await write(admin, admin.getByLabel("Name of the node"), node);
      await press(admin, admin.getByRole("button", { name: "Make its command" }));
      const command = admin.locator("pre", { hasText: `--node ${node} ` });
      await command.waitFor();
      const [, token, program, rest] = /^\(umask 077; echo (\S+) >\S+\)\s+(\S+) (.*)$/.exec((await command.innerText()).trim()) ?? [];
      equal(program, "stellar-agent", "the program");
      const file = join(folder, `${node}.token`);
      writeFileSync(file, token, { mode: 0o600 });
      start(node, rest.split(" ").map((part) => (part === `${node}.token` ? file : part)));
      await inSync(node);
    }
    await admin.locator("li", { hasText: "Enrol a node" }).getByText("done", { exact: true }).waitFor();
    noFaults(admin);
  });
  await test("a tenant is made, with a user and where its jobs run", async () => {
    await write(admin, admin.getByLabel("Name", { exact: true }), "vision");
    await press(admin, admin.getByRole("button", { name: "Create", exact: true }));
    await admin.getByRole("link", { name: "Policy of vision" }).waitFor();
    for (const [i, job] of Object.keys(SEED.qos_policy).entries()) await call("PUT", `/v1/tenants/vision/placements/${job}`, { nodes: NODES, match: { ip_proto: "udp", dst_port: 4791 + i } }, { "If-None-Match": "*" });
    await way(admin, "/users", "Users", "Users");
    await write(admin, admin.getByLabel("User name"), "bob@vision");
    await write(admin, admin.getByLabel("Password"), PASSWORD);
    await choose(admin, admin.locator('select[name="role"]'), "tenant-admin");
    await press(admin, admin.getByRole("button", { name: "Create", exact: true }));
    await admin.getByRole("cell", { name: "bob@vision", exact: true }).waitFor();
    noFaults(admin);
  });
  await test("changes are to go out in waves", async () => {
    await way(admin, "/rollouts", "Rollouts", "Rollouts");
    await choose(admin, admin.getByLabel("Mode"), "staged");
    await press(admin, admin.getByRole("button", { name: "Save" }));
    await admin.getByText("Staged: changes wait").waitFor();
  });

  await test("the tenant logs in and drags the seed policy in: refused, mended, accepted", async () => {
    const tenant = await open(browser);
    await tenant.goto(url + "/");
    await write(tenant, tenant.getByLabel("User name"), "bob@vision");
    await write(tenant, tenant.getByLabel("Password"), PASSWORD);
    await press(tenant, tenant.getByRole("button", { name: "Log in" }));
    await tenant.getByRole("heading", { level: 1, name: "Tenant vision" }).waitFor();
    await press(tenant, tenant.getByRole("link", { name: "Policy", exact: true }).first());
    await bring(tenant, { qos_policy: { ...SEED.qos_policy, nlp_job: { priority: 3, bw_guarantee: "40%", bw_limit: "30%" } } });
    await tenant.locator("fieldset").getByText("limit-below-guarantee").waitFor();
    await press(tenant, tenant.getByRole("button", { name: "Save" }));
    await tenant.locator('[data-code="policy-refused"]').waitFor();
    await bring(tenant, SEED);
    await press(tenant, tenant.getByRole("button", { name: "Save" }));
    await tenant.getByText("Stored as revision 1.").waitFor();
    equal((await call("GET", "/v1/tenants/vision/policy")).json, SEED, "the policy");
    noFaults(tenant);
    await tenant.context().close();
  });

  let rollout = "";
  await test("the admin starts its rollout and sees it converge live, without asking again", async () => {
    await way(admin, "/rollouts/new", "Start a rollout", "Start a rollout");
    await write(admin, admin.getByLabel("Waves"), "1");
    await write(admin, admin.getByLabel("Watched for"), "1s");
    await press(admin, admin.getByRole("button", { name: "Start", exact: true }));
    await admin.waitForURL(/\/rollouts\/(?!new)/);
    rollout = decodeURIComponent(new URL(admin.url()).pathname.split("/")[2]);
    await admin.locator("h1 + .badge", { hasText: "done" }).waitFor();
    for (const node of NODES) equal((await ofNode(node)).in_sync, true, node);
    noFaults(admin);
  });
  await inspect(admin, `${AS}-rollout`);

  await test("drift appears on the page as it happens, says who made it, and is repaired", async () => {
    // A pretended node holds its knobs in memory: one that starts again sets them anew. Then another hand changes one.
    await way(admin, "/nodes/n2?tab=receipts", "n2", "Nodes", "n2", "Receipts");
    const rows = admin.locator("main tbody tr");
    const before = await rows.count();
    equal(await rows.getByText("drift", { exact: true }).count(), 0, "drift before");
    await end("n2");
    start("n2", [...agents.get("n2").argv, "--sim-fault", "alter:link.mtu"]);
    const drift = rows.filter({ hasText: "drift" });
    await drift.first().waitFor();
    equal((await rows.count()) > before + 1, true, "receipts of what was lost and of what was altered");
    await press(admin, drift.first().getByRole("link"));
    const step = admin.getByRole("row", { name: /drift link\.mtu/ }).first();
    await step.getByText("4200", { exact: true }).waitFor();
    await step.getByText("1500", { exact: true }).waitFor();
    await step.getByText(/sh \(process \d+\)/).waitFor();
    await inSync("n2");
    await admin.locator("h1 + .badge", { hasText: "in sync" }).waitFor();
    const knob = (await call("GET", "/v1/nodes/n2/state")).json.knobs.find((one) => one.kind === "link.mtu");
    equal(knob.live, 4200, "the MTU, read back");
    noFaults(admin);
  });
  await inspect(admin, `${AS}-drift`);

  await test("an incident's runbook runs and names the cause", async () => {
    await until(async () => (await call("GET", "/v1/incidents?state=open")).json.items.some((i) => i.rule === "fcs-errors"), "the incident of n9");
    await way(admin, "/incidents", "Incidents", "Incidents");
    await press(admin, admin.getByRole("link", { name: "fcs-errors" }).first());
    await press(admin, admin.getByRole("link", { name: /Run packet-loss/ }));
    await press(admin, admin.getByRole("button", { name: "Run", exact: true }));
    await admin.locator("ol code", { hasText: "fcs" }).first().waitFor();
    noFaults(admin);
  });

  await test("the rollout is rolled back, and the nodes are as before it", async () => {
    await way(admin, `/rollouts/${rollout}`, `Rollout ${rollout}`, "Rollouts", rollout);
    await press(admin, admin.getByRole("button", { name: "Roll back" }));
    await write(admin, admin.getByLabel(`Type ${rollout} to confirm`), rollout);
    await press(admin, admin.getByRole("dialog").getByRole("button", { name: "Roll back" }));
    await admin.locator("h1 + .badge", { hasText: "rolled back" }).waitFor();
  });

  await test("the report is read and printed in Chinese", async () => {
    await choose(admin, admin.getByLabel("Language"), "zh");
    await way(admin, "/reports/current", "当前报告", "健康报告", "当前报告");
    await admin.getByRole("cell", { name: "n9", exact: true }).first().waitFor();
    const [print] = await Promise.all([admin.context().waitForEvent("page"), press(admin, admin.getByRole("link", { name: "打印版：中文" }))]);
    await print.getByRole("heading", { name: "集群健康报告" }).waitFor();
    await print.close();
    noFaults(admin);
  });
  await inspect(admin, `${AS}-report`);
} finally {
  for (const node of agents.keys()) await end(node);
  await browser.close();
}
done();
