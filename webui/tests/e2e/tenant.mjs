// Drives what a tenant sees and does by itself. See tests/web/check_tenant.py.
import { call, done, equal, goTo, inspect, launch, noFaults, open, PASSWORD, test, until, url } from "./browser.mjs";

const must = async (...args) => {
  const made = await call(...args);
  if (made.status >= 300) throw new Error(`${args[1]}: ${made.status} ${JSON.stringify(made.json)}`);
  return made.json;
};
const CREATE = { "If-None-Match": "*" };
await must("PUT", "/v1/fabric", { fabric_profile: { mtu_bytes: 4200, priorities: [{ priority: 0, dscps: [0] }, { priority: 2, dscps: [18] }, { priority: 3, dscps: [26], lossless: true }] } }, CREATE);
await must("PUT", "/v1/tenants/vision", { quota: { jobs_max: 4, guarantee_max: "50%" } }, CREATE);
await must("PUT", "/v1/tenants/other", {}, CREATE);
await must("PUT", "/v1/tenants/vision/placements/nlp_job", { selector: { rack: "a" }, match: { ip_proto: "udp", dst_port: 4791 } }, CREATE);
await must("POST", "/v1/users", { name: "bob@vision", role: "tenant-admin", password: PASSWORD });
const label = (await must("GET", "/v1/tenants/vision/placements/nlp_job")).label;

const browser = await launch();
try {
  const page = await open(browser);
  await test("a tenant's admin comes to the tenant's home, which says what to do first", async () => {
    await page.goto(url + "/");
    await page.getByLabel("User name").fill("bob@vision");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Tenant vision" }).waitFor();
    await page.getByText("No job yet").waitFor();
    await page.getByText("0 / 4").waitFor();
    noFaults(page);
  });
  await test("the whole way is done by keys alone: to the policy, a job, a guarantee, a dry run, stored", async () => {
    const tabTo = async (target) => {
      for (let i = 0; i < 80; i++) {
        if (await target.evaluate((element) => element === document.activeElement)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error("80 tabs did not lead there");
    };
    await tabTo(page.getByRole("link", { name: "Policy" }).first());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Policy of vision" }).waitFor();
    await tabTo(page.getByLabel("Name of a job"));
    await page.keyboard.type("nlp_job");
    await page.keyboard.press("Enter");
    const field = (name) => page.locator(`input[name="nlp_job.${name}"]`);
    await field("priority").waitFor();
    await page.keyboard.press("Shift+Tab");
    await tabTo(page.getByRole("link", { name: "Skip to content" }));
    await page.keyboard.press("Enter");
    await tabTo(field("priority"));
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("3");
    await page.keyboard.press("Tab");
    await page.keyboard.type("60%");
    await page.keyboard.press("Tab");
    await page.locator("fieldset, .panel").getByText("tenant-quota").first().waitFor();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("40%");
    await tabTo(page.getByRole("button", { name: "Dry run" }));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /Would change 2 nodes/ }).waitFor();
    await tabTo(page.getByRole("button", { name: "Save" }));
    await page.keyboard.press("Enter");
    await page.getByText("Stored as revision 1.").waitFor();
    equal((await must("GET", "/v1/tenants/vision/policy")).qos_policy, { nlp_job: { bw_guarantee: "40%", priority: 3 } });
    noFaults(page);
  });
  await inspect(page, "tenant-policy");

  await test("the home holds guarantees against the quota, and what nobody measured is a dash", async () => {
    await page.getByRole("link", { name: "Home" }).click();
    await page.getByText("40% / 50%").waitFor();
    await page.getByRole("row", { name: /nlp_job/ }).getByText("–").first().waitFor();
    await page.getByText(`--unit=stellar-job-${label}`).waitFor();
  });
  await inspect(page, "tenant-home-bare");

  // Pretended nodes tell no queue pair of a job: what a tenant would get then is put before the page.
  const pair = (metric, n, more = {}) => ({ node: "n1", kind: "qp", device: "sim0", number: 17, pid: 9, label, metric, type: "counter", value: n, time: new Date().toISOString(), ...more });
  const latest = [pair("tx_bytes", 9e12, { rate: 4.2e9 }), pair("tx_packets", 2e9), pair("retransmits", 5e4), pair("rtt_ns", 21_000, { type: "gauge" }), ...[4, 9, 30, 90, 60, 22, 7, 3].map((n, i) => pair(`latency.b${8 + i}`, n * 100))];
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const points = (scale) => Array.from({ length: 60 }, (_, i) => [i * 60, Math.round(scale * (60 + 12 * Math.sin(i / 4))), 0, 0, 60_000]).filter(([at]) => at < 1500 || at > 1900);
  const line = (metric, scale) => ({ node: "n1", kind: "qp", device: "sim0", number: 17, label, metric, type: "counter", points: points(scale) });
  await page.route("**/v1/telemetry/latest?*", (route) => route.fulfill({ json: { items: latest, truncated: false } }));
  await page.route(/\/v1\/telemetry\?/, (route) => route.fulfill({ json: { from, to: new Date().toISOString(), step_s: 60, tier: "minute", gaps: [], truncated: false, damaged: false, series: [line("tx_bytes", 5.6e8), line("tx_packets", 1.3e6), line("retransmits", 22)] } }));
  await test("a job is what it sends, what it sends again, and how long that takes", async () => {
    await page.reload();
    const row = page.getByRole("row", { name: /nlp_job/ });
    await row.getByText("33.6 Gbps").waitFor();
    await row.getByText("25 ppm").waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV", exact: true }).first().click()]);
    equal(file.suggestedFilename(), "vision-jobs.csv");
  });
  await inspect(page, "tenant-home");
  await test("its charts have their points as tables, and the line of what is too much", async () => {
    await page.getByRole("link", { name: "nlp_job" }).click();
    await page.getByRole("heading", { level: 1, name: "Job nlp_job" }).waitFor();
    await page.locator("figure canvas").nth(1).waitFor();
    await page.getByText("0.001 % 10 ppm").waitFor();
    await page.getByText("The points as a table").first().click();
    await page.getByRole("cell", { name: /bps$/ }).first().waitFor();
    await page.getByText("The points as a table").first().click();
    noFaults(page);
  });
  await inspect(page, "job");
  await page.unrouteAll();
  await test("its own report says what was asked and granted, and nothing that nobody measured", async () => {
    await page.getByRole("link", { name: "Report", exact: true }).first().click();
    await page.getByRole("heading", { level: 1, name: "Report of vision" }).waitFor();
    const row = page.getByRole("row", { name: /nlp_job/ });
    // A report is of its moment: what was granted is in one that is asked for after the server looked at it.
    for (let asked = 1; asked < 10 && !(await row.getByText("40%").isVisible()); asked++) {
      await page.waitForTimeout(2000);
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Report of vision" }).waitFor();
    }
    await row.getByText("40%").waitFor();
    await row.getByText("–").first().waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV", exact: true }).first().click()]);
    equal(file.suggestedFilename(), "vision-report.csv");
    noFaults(page);
  });
  await inspect(page, "tenant-report");
  await test("it is a page to print, in Chinese too", async () => {
    const [print] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: "To print: 中文" }).click()]);
    await print.getByRole("heading", { name: "租户报告" }).waitFor();
    await print.close();
  });
  await test("another tenant is not there", async () => {
    await page.goto(`${url}/tenants/other`);
    await page.locator('[data-code="not-found"]').first().waitFor();
  });
  await test("a token of its own is made and shown once", async () => {
    await goTo(page, "/tokens", "Tokens");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText(/^st_/).waitFor();
    await until(async () => (await call("GET", "/v1/tokens")).json.items.length > 0, "the token");
  });
} finally {
  await browser.close();
}
done();
