// Drives verifications: a dry run, a start, its progress, the same once more, a cancel. See tests/web/check_verification.py.
import { readFileSync } from "node:fs";

import { call, done, equal, goTo, inspect, launch, login, noFaults, test, until } from "./browser.mjs";

const WIDE = 1280;
const tokens = {};

/** A node's part: takes its task, and reports; `figures` are told by who asks. */
async function part(node, figures) {
  tokens[node] ??= (await call("POST", `/v1/nodes/${node}/token`)).json.token;
  const header = { Authorization: `Bearer ${tokens[node]}` };
  const task = await until(async () => (await call("GET", `/v1/nodes/${node}/verify?wait=0s`, undefined, header)).json, `a task of ${node}`);
  const body = { version: 1, task: task.verification, outcome: "done", figures: task.place === 0 ? figures : {} };
  equal((await call("POST", `/v1/nodes/${node}/verify/${task.verification}:report`, body, header)).status, 200, `the report of ${node}`);
}
const measured = async (figures) => { for (const node of ["n1", "n2"]) await part(node, figures); };
const all = async () => (await call("GET", "/v1/verifications")).json.items;

const browser = await launch();
try {
  const page = await login(browser, "olga", "operator");
  await test("nothing was verified yet, and the way to do it stands there", async () => {
    await goTo(page, "/verifications", "Verifications");
    await page.getByText("Nothing was verified yet").waitFor();
    await page.getByRole("link", { name: "Choose nodes and kinds to begin" }).click();
    await page.getByRole("heading", { level: 1, name: "Verify" }).waitFor();
  });
  await test("without a kind it says what is still to be chosen, and asks nothing", async () => {
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Choose at least one.").waitFor();
    equal(await all(), [], "verifications");
  });
  await test("a dry run names the tests and those that cannot be measured, and begins nothing", async () => {
    await page.getByRole("checkbox", { name: "latency", exact: true }).check();
    await page.getByRole("checkbox", { name: "read bandwidth" }).check();
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("It would make 4 tests.").waitFor();
    await page.getByText("2 of them cannot be measured").waitFor();
    await page.getByRole("row", { name: /^latency n3 unknown/ }).waitFor();
    equal(await page.locator(".window tbody .badge", { hasText: "pass" }).count(), 0, "passes of a plan");
    equal(await all(), [], "verifications");
    noFaults(page);
  });
  await inspect(page, "verification-plan");

  const badge = page.locator("h1 + .badge");
  const row = (kind) => page.getByRole("row", { name: new RegExp(`^${kind} n1/mlx5_0`) });
  await test("it starts, and what cannot be measured is unknown at once", async () => {
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL("**/verifications/v-1");
    await badge.filter({ hasText: "running" }).waitFor();
    await row("latency").getByText("running").waitFor();
    await row("read bandwidth").getByText("waiting").waitFor();
    const lost = page.getByRole("row", { name: /^latency n3 / });
    await lost.getByText("unknown").waitFor();
    equal((await lost.getByRole("cell").allInnerTexts()).includes("0"), false, "a figure that nobody measured");
  });
  await inspect(page, "verification-running");
  await test("a test that ends stands there with its figure while the others go on, without asking again", async () => {
    await measured({ latency_p50_ns: 1000 });
    await row("latency").getByText("pass").waitFor();
    equal((await row("latency").getByRole("cell").allInnerTexts()).slice(4).map((text) => text.trim()), ["latency, median", "1000", "ns", "< 1200", "–", "–"], "the row");
    await row("read bandwidth").getByText("running").waitFor();
    await badge.filter({ hasText: "running" }).waitFor();
    equal((await page.getByRole("group", { name: "Tests by grade" }).innerText()).replace(/[^a-z0-9 ]|\s+/g, " ").replace(/ +/g, " ").trim(), "unknown 2 pass 1 running 1", "the progress");
    noFaults(page);
  });
  await test("the last one ends it; what is below its limit fails", async () => {
    await measured({ rate_bps: 90_000_000_000 });
    await badge.filter({ hasText: "done" }).waitFor();
    await row("read bandwidth").getByText("fail").waitFor();
    equal((await row("read bandwidth").getByRole("cell").allInnerTexts()).slice(5, 8).map((text) => text.trim()), ["90", "Gb/s", "≥ 98"], "the row");
    await page.locator("h1 ~ .badge", { hasText: "fail" }).waitFor();
    noFaults(page);
  });
  await test("why a grade is what it is stands in the window beside the grade", async () => {
    const head = await page.getByRole("columnheader", { name: "Why" }).boundingBox();
    const grade = await page.getByRole("columnheader", { name: "Grade" }).boundingBox();
    equal([head.x >= grade.x + grade.width - 1, head.x - grade.x - grade.width < 2, head.x + head.width <= WIDE], [true, true, true], JSON.stringify([grade, head]));
  });
  await test("its table is taken along as CSV, with nothing where nothing is known", async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).first().click()]);
    equal(file.suggestedFilename(), "v-1-tests.csv");
    const lines = readFileSync(await file.path(), "utf8").split("\r\n");
    equal(lines.filter((line) => line.includes(",pass,")).length, 1, lines.join(" | "));
    equal(/^send_lat,n3,unknown,.*,latency_p50_ns,,ns,,,$/m.test(lines.join("\n")), true, lines.join(" | "));
  });
  await inspect(page, "verification-done");

  await test("the same once more is compared with the last time", async () => {
    await page.getByRole("link", { name: "Once more" }).click();
    await page.getByRole("checkbox", { name: "latency", exact: true }).waitFor();
    equal(await page.locator('input[name="kind"]:checked').evaluateAll((boxes) => boxes.map((box) => box.value)), ["send_lat", "read_bw"], "kinds");
    await page.getByRole("checkbox", { name: "read bandwidth" }).uncheck();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL("**/verifications/v-2");
    await measured({ latency_p50_ns: 1250 });
    await row("latency").getByText("fail").waitFor();
    await row("latency").getByText("+25", { exact: true }).waitFor();
    await row("latency").getByRole("link", { name: "1000" }).click();
    await page.waitForURL("**/verifications/v-1");
    noFaults(page);
  });
  await test("one that runs is cancelled when its name is typed: what is not over is unknown, never passed", async () => {
    await goTo(page, "/verifications/new?nodes=n1,n2&kinds=write_bw", "Verify");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL("**/verifications/v-3");
    await page.getByRole("button", { name: "Cancel the verification" }).click();
    const dialog = page.getByRole("dialog");
    const go = dialog.getByRole("button", { name: "Cancel the verification" });
    equal(await go.isDisabled(), true, "without its name");
    await dialog.getByLabel("Type v-3 to confirm").fill("v-3");
    await go.click();
    await badge.filter({ hasText: "cancelled" }).waitFor();
    await row("write bandwidth").getByText("unknown").waitFor();
    await row("write bandwidth").getByText("cancelled").waitFor();
    equal(await page.getByRole("button", { name: "Cancel the verification" }).count(), 0, "ways to cancel it again");
    equal((await call("GET", "/v1/verifications/v-3")).json.state, "cancelled");
    noFaults(page);
  });
  await test("all three stand in their list, the newest first", async () => {
    await goTo(page, "/verifications", "Verifications");
    await page.getByRole("link", { name: "v-3" }).waitFor();
    equal(await page.locator(".window tbody a").allInnerTexts(), ["v-3", "v-2", "v-1"], "verifications");
  });
  await inspect(page, "verifications");
  await test("an auditor looks and cannot order or cancel", async () => {
    const auditor = await login(browser, "uwe", "auditor");
    await goTo(auditor, "/verifications/v-1", "Verification v-1");
    await auditor.getByRole("row", { name: /^latency n1/ }).waitFor();
    equal(await auditor.getByRole("link", { name: "Once more" }).count(), 0, "ways to order");
    await auditor.goto(new URL("/verifications/new", auditor.url()).href);
    await auditor.getByText("Your role may not see this.").waitFor();
    noFaults(auditor);
  });
} finally {
  await browser.close();
}
done();
