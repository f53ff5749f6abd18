// Drives a policy from the tenant's hands to the nodes, in waves, and back. See tests/web/check_rollouts.py.
import { call, done, drag, equal, goTo, inspect, launch, login, noFaults, tabTo, test, until } from "./browser.mjs";

const JOBS = { nlp_job: { priority: 3, bw_guarantee: "40%" }, cv_job: { priority: 2, bw_limit: "60%" } };

const browser = await launch();
try {
  const admin = await login(browser, "eva", "admin");
  await goTo(admin, "/steps", "First steps");
  await admin.getByRole("button", { name: "Store this profile" }).click();
  await until(async () => (await call("GET", "/v1/fabric")).status === 200, "the profile");
  for (const node of ["n1", "n2"]) await until(async () => (await call("GET", `/v1/nodes/${node}`)).json.sync === "in-sync", `${node} has its first plan`);
  await call("PUT", "/v1/tenants/vision", {}, { "If-None-Match": "*" });
  for (const job of Object.keys(JOBS)) await call("PUT", `/v1/tenants/vision/placements/${job}`, { selector: { rack: "a" }, match: { ip_proto: "udp", dst_port: job === "nlp_job" ? 4791 : 4792 } }, { "If-None-Match": "*" });

  await goTo(admin, "/rollouts", "Rollouts");
  await admin.getByText("Directly: each change goes").waitFor();
  await test("settings that somebody else changed in between are shown three ways and not lost", async () => {
    await admin.route("**/v1/rollout-policy", async (route) => {
      if (route.request().method() !== "PUT") return route.continue();
      const now = await call("GET", "/v1/rollout-policy");
      equal((await call("PUT", "/v1/rollout-policy", { ...now.json, soak: "2s" }, now.etag === null ? { "If-None-Match": "*" } : { "If-Match": now.etag })).status < 300, true, "theirs");
      return route.continue();
    });
    await admin.getByLabel("Mode").selectOption("staged");
    await admin.getByRole("button", { name: "Save" }).click();
    const table = admin.getByRole("table", { name: "Somebody else changed the settings in between" });
    await table.getByRole("row", { name: /\/soak/ }).getByText("2s").waitFor();
    await table.getByRole("row", { name: /\/mode/ }).getByText("staged").waitFor();
    equal((await call("GET", "/v1/rollout-policy")).json.mode, "direct", "nothing was overwritten");
    await admin.unrouteAll();
    await admin.getByLabel("Mode").selectOption("direct");
  });
  await inspect(admin, "rollouts-conflict");
  await test("the mode is set to staged, and stands there at once", async () => {
    await admin.getByLabel("Mode").selectOption("staged");
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByText("Staged: changes wait").waitFor();
    equal((await call("GET", "/v1/rollout-policy")).json.mode, "staged");
  });
  await inspect(admin, "rollouts-staged");

  const tenant = await login(browser, "bob@vision", "tenant-admin");
  await test("a tenant drags the policy in: refused beside its field, then accepted", async () => {
    await goTo(tenant, "/tenants/vision/policy", "Policy of vision");
    await drag(tenant, { qos_policy: { ...JOBS, nlp_job: { priority: 3, bw_guarantee: "40%", bw_limit: "30%" } } });
    await tenant.locator("fieldset").getByText("limit-below-guarantee").waitFor();
    await tenant.getByRole("button", { name: "Save" }).click();
    await tenant.locator('[data-code="policy-refused"]').waitFor();
    await drag(tenant, { qos_policy: JOBS });
    await tenant.locator("fieldset").getByText("limit-below-guarantee").waitFor({ state: "detached" });
    await tenant.getByRole("button", { name: "Save" }).click();
    await tenant.getByText("Stored as revision 1.").waitFor();
    noFaults(tenant);
    await tenant.context().close();
  });

  await test("nodes that wait for a rollout are chosen in their table", async () => {
    await goTo(admin, "/nodes", "Nodes");
    await until(async () => (await call("GET", "/v1/nodes/n2")).json.sync === "held", "n2 held");
    await admin.getByLabel("Choose n1").check();
    await admin.getByLabel("Choose n2").check();
  });
  await inspect(admin, "nodes-chosen");
  await test("and taken along to a new rollout", async () => {
    await admin.getByRole("link", { name: "Start a rollout" }).click();
    await admin.getByRole("button", { name: "Take n2 away" }).waitFor();
  });
  await test("waves that cannot be read are said so beside their field", async () => {
    await admin.getByLabel("Waves").fill("some");
    await admin.getByRole("button", { name: "Dry run" }).click();
    await admin.getByText("Write numbers or shares").waitFor();
  });
  await test("a dry run says what each wave would do, and begins nothing", async () => {
    await admin.getByLabel("Waves").fill("1");
    await admin.getByLabel("Confirmed by").selectOption("manual");
    await admin.getByLabel("Watched for").fill("8s");
    await admin.getByLabel("Goes back after").fill("120s");
    await admin.getByRole("button", { name: "Dry run" }).click();
    await admin.getByRole("heading", { name: "Would take 2 nodes" }).waitFor();
    equal((await call("GET", "/v1/rollouts")).json.items, [], "rollouts");
  });
  await inspect(admin, "rollout-new");
  await test("it begins, is paused and goes on", async () => {
    await admin.getByRole("button", { name: "Start", exact: true }).click();
    await admin.waitForURL(/\/rollouts\/(?!new)/);
    await admin.getByRole("button", { name: "Pause" }).click();
    await admin.getByRole("button", { name: "Go on" }).click();
  });
  await test("the first wave converges live and waits for a person, with its countdown", async () => {
    await admin.getByRole("button", { name: "Confirm" }).waitFor();
    await admin.getByText("Goes back by itself in").waitFor();
  });
  await inspect(admin, "rollout-confirming");
  await test("confirmed wave by wave, it is done", async () => {
    const ended = async () => (await call("GET", "/v1/rollouts")).json.items[0].state === "done";
    await until(async () => {
      const confirm = admin.getByRole("button", { name: "Confirm" });
      if (await confirm.isVisible()) await confirm.click({ timeout: 2000 }).catch(() => undefined);
      return ended();
    }, "the rollout is done");
    await admin.locator("h1 + .badge", { hasText: "done" }).waitFor();
    equal((await call("GET", "/v1/nodes/n1")).json.in_sync, true, "n1");
  });
  await inspect(admin, "rollout-done");
  await test("rolled back by the keyboard alone, its nodes go back", async () => {
    const id = (await call("GET", "/v1/rollouts")).json.items[0].id;
    await goTo(admin, "/rollouts", "Rollouts");
    await tabTo(admin, admin.getByRole("link", { name: id }));
    await admin.keyboard.press("Enter");
    const back = admin.getByRole("button", { name: "Roll back" });
    await back.waitFor();
    await tabTo(admin, back);
    await admin.keyboard.press("Enter");
    const typed = admin.getByLabel(`Type ${id} to confirm`);
    await tabTo(admin, typed);
    await admin.keyboard.type(id);
    await tabTo(admin, admin.getByRole("dialog").getByRole("button", { name: "Roll back" }));
    await admin.keyboard.press("Enter");
    await until(async () => (await call("GET", `/v1/rollouts/${id}`)).json.state === "rolled-back", "rolled back");
    await admin.locator("h1 + .badge", { hasText: "rolled back" }).waitFor();
    noFaults(admin);
  });
  await inspect(admin, "rollout-back");
} finally {
  await browser.close();
}
done();
