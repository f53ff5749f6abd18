// Drives incidents, runbooks and reports of health. See tests/web/check_health.py.
import { call, done, equal, goTo, inspect, launch, login, noFaults, test, until } from "./browser.mjs";

const browser = await launch();
try {
  const open = () => call("GET", "/v1/incidents?state=open").then((answer) => answer.json.items);
  await until(async () => (await open()).length >= 3, "the incidents of n9");
  const page = await login(browser, "olga", "operator");

  await goTo(page, "/incidents", "Incidents");
  await test("open incidents are listed with what was seen", async () => {
    await page.getByRole("link", { name: "fcs-errors" }).waitFor();
    equal(await page.getByRole("link", { name: "link-down", exact: true }).count(), 1, "link-down");
  });
  await inspect(page, "incidents");
  await test("an incident says what to do, and what it explains", async () => {
    await page.getByRole("link", { name: "rdma-retries-exceeded" }).click();
    await page.getByRole("heading", { name: "What to do" }).waitFor();
    await page.getByRole("link", { name: /^#/ }).click();
    await page.getByRole("heading", { name: "Incidents that it explains" }).waitFor();
    await page.getByRole("cell", { name: "rdma-retries-exceeded" }).waitFor();
  });
  await inspect(page, "incident-root");
  await test("who looks at it acknowledges it, with a reason", async () => {
    await goTo(page, "/incidents", "Incidents");
    await page.getByRole("link", { name: "fcs-errors" }).click();
    await page.getByRole("heading", { name: "What to do" }).waitFor();
    await page.getByLabel("Reason").fill("cable is ordered");
    await page.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText(/olga, .*cable is ordered/).waitFor();
  });
  await inspect(page, "incident");
  await test("an incident leads to a runbook that asks for its rule, over its node", async () => {
    await page.getByRole("link", { name: /Run packet-loss/ }).click();
    await page.getByRole("heading", { level: 1, name: "packet-loss" }).waitFor();
    await page.getByRole("button", { name: "Take n9 away" }).waitFor();
  });
  await inspect(page, "runbook");
  await test("it runs, and finds the fault", async () => {
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("heading", { level: 2, name: "n9" }).waitFor();
    await page.locator("ol code", { hasText: "fcs" }).waitFor();
    await page.locator("details summary").first().click();
  });
  await inspect(page, "runbook-run");
  await test("a file of a tool is judged like a node", async () => {
    await goTo(page, "/runbooks/packet-loss", "packet-loss");
    equal(await page.getByRole("button", { name: "Run", exact: true }).isDisabled(), true, "with nothing to look at");
    await page.locator('input[name="files"]').setInputFiles({ name: "eth0.txt", mimeType: "text/plain", buffer: Buffer.from("$ ethtool -S eth0\nNIC statistics:\n     rx_crc_errors_phy: 12\n") });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("eth0.txt (ethtool-S)").waitFor();
    await page.locator("ol code", { hasText: "fcs" }).waitFor();
  });
  await test("nodes are chosen by name, and stand in the address", async () => {
    await page.getByLabel("Nodes").first().fill("n1 n2");
    await page.getByLabel("Nodes").first().press("Enter");
    await page.getByRole("button", { name: "Take n1 away" }).click();
    await page.waitForURL("**/runbooks/packet-loss?nodes=n2");
    noFaults(page);
  });
  await goTo(page, "/runbooks", "Runbooks");
  await page.getByRole("link", { name: "slow-node" }).waitFor();
  await inspect(page, "runbooks");

  await test("a finding is accepted for a time from its incident, and counts again when that is ended", async () => {
    const id = (await open()).find((i) => i.rule === "fcs-errors").id;
    await goTo(page, `/incidents/${id}`, `Incident ${id}`);
    await page.getByRole("link", { name: "Accept for a time" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("being moved");
    await page.getByRole("button", { name: "Accept", exact: true }).click();
    await page.getByRole("cell", { name: "being moved" }).waitFor();
    equal((await call("GET", "/v1/exclusions")).json.items.map((e) => e.rule), ["fcs-errors"], "exclusions");
  });
  await inspect(page, "exclusions");
  await test("what is accepted is ended when its subject is typed", async () => {
    await page.getByRole("button", { name: /^End/ }).click();
    const dialog = page.getByRole("dialog");
    const subject = (await call("GET", "/v1/exclusions")).json.items[0].subject;
    await dialog.getByLabel(`Type ${subject} to confirm`).fill(subject);
    await dialog.getByRole("button", { name: "End", exact: true }).click();
    await until(async () => (await call("GET", "/v1/exclusions")).json.items.length === 0, "no exclusion");
  });

  await call("POST", "/v1/health/reports", { version: 1, kind: "upload", source: "cablecheck 2.1", time: "2026-01-02T03:04:05Z", grade: "warning", new: [{ rule: "fcs-errors", subject: "<b>n1</b>", severity: "warning", message: "12 frames" }] });
  await goTo(page, "/reports", "Health reports");
  await page.getByRole("cell", { name: "cablecheck 2.1" }).waitFor();
  await inspect(page, "reports");
  await test("an uploaded report is shown as text", async () => {
    await page.getByRole("row", { name: /cablecheck/ }).getByRole("link").first().click();
    await page.getByRole("cell", { name: "<b>n1</b>" }).waitFor();
  });
  await test("the report of now names the sick node, as a table, a page and a file", async () => {
    await goTo(page, "/reports/current", "Report of now");
    await page.getByRole("heading", { name: "Worst nodes" }).waitFor();
    await page.getByRole("cell", { name: "n9", exact: true }).first().waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV", exact: true }).click()]);
    equal(file.suggestedFilename(), "health-current.csv");
    const [list] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV Worst nodes" }).click()]);
    equal(list.suggestedFilename(), "health-current-outliers.csv");
  });
  await inspect(page, "report");
  await test("and as a page to print in Chinese", async () => {
    const [print] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: "To print: 中文" }).click()]);
    await print.getByRole("heading", { name: "集群健康报告" }).waitFor();
    await print.close();
  });
  await test("all of it is there in Chinese", async () => {
    await page.getByLabel("Language").selectOption("zh");
    await page.getByRole("heading", { level: 1, name: "当前报告" }).waitFor();
  });
  await inspect(page, "report-zh");
} finally {
  await browser.close();
}
done();
