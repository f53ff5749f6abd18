// Drives what shows a node's parts, the rules of hardware and the contract. See tests/web/check_tools.py.
import { call, done, equal, goTo, inspect, launch, login, noFaults, test, until, url } from "./browser.mjs";

const browser = await launch();
try {
  const admin = await login(browser, "eva", "admin");
  await until(async () => (await call("GET", "/v1/telemetry/latest?node=n1&kind=qp")).json.items.length > 0, "counters of queue pairs");

  await test("every queue pair of a node has a row with what it sends", async () => {
    await goTo(admin, "/nodes/n1?tab=qps", "n1");
    const counted = (await call("GET", "/v1/telemetry/latest?node=n1&kind=qp")).json.items;
    const pairs = new Set(counted.map((item) => `${item.device} ${item.number}`)).size;
    await admin.getByText(`${pairs} of ${pairs}`).waitFor();
    await admin.getByRole("cell", { name: /bps$/ }).first().waitFor();
    noFaults(admin);
  });
  await inspect(admin, "node-qps");
  await test("PCIe links of which nothing is known are unknown, not full", async () => {
    await goTo(admin, "/nodes/n1?tab=pcie", "n1");
    await admin.getByRole("cell", { name: "unknown" }).first().waitFor();
    equal(await admin.getByRole("cell", { name: "full", exact: true }).count(), 0, "full ones");
  });
  await inspect(admin, "node-pcie");
  await goTo(admin, "/nodes/n1?tab=gids", "n1");
  await admin.getByText("no RDMA device with GIDs").waitFor();
  await inspect(admin, "node-gids");
  await test("the timeline of a node has its changes, the newest first", async () => {
    await goTo(admin, "/nodes/n1?tab=timeline", "n1");
    await admin.getByRole("cell", { name: "node.inventory" }).first().waitFor();
    const times = await admin.locator("tbody tr td:first-child").allInnerTexts();
    equal(times.length > 1, true, "rows");
    await call("PATCH", "/v1/nodes/n1", [{ op: "add", path: "/description", value: "moved" }], { "Content-Type": "application/json-patch+json", "If-Match": (await call("GET", "/v1/nodes/n1")).etag });
    await until(async () => (await admin.locator("tbody tr").count()) > times.length, "the change, live");
  });
  await inspect(admin, "node-timeline");

  await test("the rules of hardware say what they want and how often they found something", async () => {
    await goTo(admin, "/compatibility?tab=rules", "Compatibility");
    await admin.getByRole("row", { name: /compat-pcie.*pcie_gen ≥ 4/ }).waitFor();
    noFaults(admin);
  });
  await inspect(admin, "compatibility-rules");
  await test("what they find is a table", async () => {
    await admin.getByRole("link", { name: "Findings" }).click();
    await admin.getByRole("status").first().waitFor();
    noFaults(admin);
  });
  await inspect(admin, "compatibility");

  await test("the explorer has every operation of the contract", async () => {
    await goTo(admin, "/api", "API");
    const paths = Object.values((await call("GET", "/openapi.json")).json.paths);
    const all = paths.flatMap((item) => Object.keys(item).filter((key) => ["get", "post", "put", "patch", "delete"].includes(key))).length;
    await admin.getByText(`${all} of ${all}`).waitFor();
  });
  await inspect(admin, "api");
  await test("an operation that reads is asked, with its path filled in", async () => {
    await admin.getByLabel("Filter").fill("node_get");
    await admin.getByRole("link", { name: "/v1/nodes/{node}", exact: true }).click();
    await admin.getByLabel(/^node · path/).fill("n1");
    await admin.getByRole("button", { name: "Ask" }).click();
    const answer = admin.getByRole("group", { name: "Answer" });
    await answer.waitFor();
    equal(JSON.parse(await answer.innerText()).name, "n1");
    noFaults(admin);
  });
  await inspect(admin, "api-operation");
  await test("an operation that changes something is a command and cannot be sent", async () => {
    await admin.goto(`${url}/api?op=fabric_put`);
    await admin.getByText("take the command along").waitFor();
    equal(await admin.getByRole("button", { name: "Ask" }).count(), 0, "buttons");
    await admin.getByText("STELLAR_TOKEN").waitFor();
  });
} finally {
  await browser.close();
}
done();
