// Drives what operators decide: a reboot that waits, a node's end, where a job runs, people. See tests/web/check_operate.py.
import { call, done, equal, goTo, inspect, launch, login, noFaults, open, PASSWORD, test, until, url } from "./browser.mjs";

const NEXT = "another horse battery";
const NEW = { "If-None-Match": "*" };
const digest = (digit) => `sha256:${String(digit).repeat(64)}`;
let token = "";
const tell = async (reboot) => {
  const body = { version: 1, node: "n8", ports: [], ...(reboot === undefined ? {} : { reboot }) };
  equal((await call("PUT", "/v1/agent/inventory", body, { Authorization: `Bearer ${token}` })).status, 200, "the inventory of n8");
};
const waits = (digit, approved = false) => ({ digest: digest(digit), count: 2, first: "module parameter solar_rdma.max_sge", why: "an operator has to approve it", approved });
const logIn = async (page, name, password) => {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
};

const browser = await launch();
try {
  const page = await login(browser, "eva", "admin");
  await call("PUT", "/v1/nodes/n8", { labels: { rack: "b" } }, NEW);
  token = (await call("POST", "/v1/nodes/n8/token")).json.token;
  await call("PUT", "/v1/fabric", { fabric_profile: { mtu_bytes: 4200, priorities: [{ priority: 0, dscps: [0] }, { priority: 3, dscps: [26], lossless: true }] } }, NEW);
  await call("PUT", "/v1/tenants/vision", {}, NEW);

  const dialog = page.getByRole("dialog");
  const approve = page.getByRole("button", { name: "Approve the reboot" });
  await test("what waits for a reboot stands on its node as soon as the agent tells it", async () => {
    await goTo(page, "/nodes/n8", "n8");
    equal(await approve.count(), 0, "reboots to approve when nothing waits");
    await tell(waits(1));
    await page.getByRole("heading", { name: "2 settings wait for a reboot" }).waitFor();
    await page.getByText("module parameter solar_rdma.max_sge").waitFor();
    await page.getByText("an operator has to approve it").waitFor();
  });
  await inspect(page, "node-reboot");
  await test("just what was seen is approved: not what waits by now", async () => {
    await approve.click();
    await tell(waits(2));
    await dialog.getByLabel("Type n8 to confirm").fill("n8");
    await dialog.getByRole("button", { name: "Approve the reboot" }).click();
    await dialog.locator('[data-code="conflict"]').waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
  });
  await test("approved with its reason, it says so until the node has it", async () => {
    await page.reload();
    await approve.click();
    await dialog.getByLabel("Type n8 to confirm").fill("n8");
    await dialog.getByLabel("Reason").fill("drained");
    await dialog.getByRole("button", { name: "Approve the reboot" }).click();
    await dialog.waitFor({ state: "detached" });
    const [row] = (await call("GET", "/v1/audit?action=node.reboot")).json.items;
    equal([row.subject, row.reason], ["node/n8", "drained"], "the audit");
    await tell(waits(2, true));
    await page.getByText("Approved: the agent begins when").waitFor();
    equal(await approve.count(), 0, "ways to approve it again");
    noFaults(page);
  });
  await test("a node that somebody else changed is not deleted unseen, then it is", async () => {
    await page.getByRole("button", { name: "Delete the node" }).click();
    const now = await call("GET", "/v1/nodes/n8");
    await call("PUT", "/v1/nodes/n8", { labels: { rack: "c" } }, { "If-Match": now.etag });
    const drop = dialog.getByRole("button", { name: "Delete the node" });
    await dialog.getByLabel("Type n8 to confirm").fill("n8");
    await drop.click();
    await dialog.getByText("Somebody else changed it meanwhile. By ").waitFor();
    equal(await dialog.getByRole("row", { name: /labels\/rack/ }).getByRole("cell").allInnerTexts(), ["/labels/rack", '"b"', '"c"'], "what changed");
    await dialog.getByLabel("Type n8 to confirm").fill("n8");
    await drop.click();
    await page.waitForURL("**/nodes");
    equal((await call("GET", "/v1/nodes/n8")).status, 404, "the node");
    noFaults(page);
  });

  await call("PUT", "/v1/tenants/vision/policy", { qos_policy: { nlp_job: { priority: 3, bw_guarantee: "40%" } } }, NEW);
  const text = page.getByRole("textbox", { name: "JSON" });
  await test("a job is placed: refused beside what it names, tried, then stored", async () => {
    await goTo(page, "/tenants/vision/jobs/nlp_job", "Job nlp_job");
    await page.getByRole("link", { name: "Placement" }).click();
    await page.getByText("The job is not placed yet").waitFor();
    await text.fill('{"selector": {"rack": "a"}, "match": {"dst_port": 4791}}');
    await page.getByText("ip_proto").first().waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator('[data-code="placement-refused"]').waitFor();
    equal((await call("GET", "/v1/tenants/vision/placements/nlp_job")).status, 404, "nothing was stored");
    await text.fill('{"selector": {"rack": "a"}, "match": {"ip_proto": "udp", "dst_port": 4791}}');
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("heading", { name: /Would change 2 nodes/ }).waitFor();
    equal((await call("GET", "/v1/tenants/vision/placements/nlp_job")).status, 404, "nothing was stored");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/Stored as revision \d+\./).waitFor();
    await until(async () => (await call("GET", "/v1/nodes/n1")).json.in_sync, "n1 in sync");
    noFaults(page);
  });
  await inspect(page, "placement");
  await test("what somebody else made of it in between is shown three ways", async () => {
    const now = await call("GET", "/v1/tenants/vision/placements/nlp_job");
    await call("PUT", "/v1/tenants/vision/placements/nlp_job", { selector: { rack: "b" }, match: { ip_proto: "udp", dst_port: 4791 } }, { "If-Match": now.etag });
    await text.fill('{"selector": {"rack": "a"}, "match": {"ip_proto": "udp", "dst_port": 4792}}');
    await page.getByRole("button", { name: "Save" }).click();
    const table = page.getByRole("table", { name: "Somebody else changed the placement in between" });
    await table.waitFor();
    equal(await table.getByRole("row", { name: /selector\/rack/ }).getByRole("cell").allInnerTexts(), ["/selector/rack", '"a"', '"b"', '"a"'], "theirs");
    await page.getByRole("button", { name: "Take theirs" }).click();
  });
  await test("it is taken off its nodes when its name is typed", async () => {
    await page.getByRole("button", { name: "Take it off its nodes" }).click();
    await dialog.getByLabel("Type nlp_job to confirm").fill("nlp_job");
    await dialog.getByRole("button", { name: "Take it off its nodes" }).click();
    await page.waitForURL("**/tenants/vision");
    equal((await call("GET", "/v1/tenants/vision/placements/nlp_job")).status, 404, "the placement");
    noFaults(page);
  });

  await test("a user is disabled and enabled, and given a new password", async () => {
    await call("POST", "/v1/users", { name: "carl", role: "auditor", password: PASSWORD });
    await goTo(page, "/users", "Users");
    await page.getByRole("button", { name: "Disable carl" }).click();
    await dialog.getByLabel("Type carl to confirm").fill("carl");
    await dialog.getByRole("button", { name: "Disable", exact: true }).click();
    await page.getByRole("button", { name: "Enable carl" }).click();
    await page.getByRole("button", { name: "Disable carl" }).waitFor();
    await page.getByRole("button", { name: "Password carl" }).click();
    await dialog.getByLabel("New password").fill(NEXT);
    await dialog.getByRole("button", { name: "Set the password" }).click();
    await dialog.waitFor({ state: "detached" });
    noFaults(page);
  });
  await inspect(page, "users-actions");
  await test("with the new password carl logs in, not with the old one; the own one is changed with the old one alone", async () => {
    const carl = await open(browser);
    await carl.goto(url + "/");
    await logIn(carl, "carl", PASSWORD);
    await carl.getByText("Name or password is wrong.").waitFor();
    await logIn(carl, "carl", NEXT);
    await carl.getByRole("button", { name: "Log out" }).waitFor();
    await carl.getByRole("button", { name: "Password", exact: true }).click();
    const own = carl.getByRole("dialog");
    await own.getByLabel("Old password").fill("not the old one");
    await own.getByLabel("New password").fill(PASSWORD);
    await own.getByRole("button", { name: "Set the password" }).click();
    await own.locator('[data-code="password-refused"]').waitFor();
    await inspect(carl, "password");
    await own.getByLabel("Old password").fill(NEXT);
    await own.getByRole("button", { name: "Set the password" }).click();
    await carl.getByRole("button", { name: "Log in" }).waitFor();
    await logIn(carl, "carl", PASSWORD);
    await carl.getByRole("button", { name: "Log out" }).waitFor();
    noFaults(carl);
  });
  await test("a rollout asks for a verification of each wave", async () => {
    await goTo(page, "/rollouts/new", "Start a rollout");
    await page.getByRole("checkbox", { name: "latency", exact: true }).check();
    await page.getByRole("checkbox", { name: "A verification that is unknown passes too" }).check();
    const [request] = await Promise.all([page.waitForRequest((one) => one.url().includes("/v1/rollouts?dry_run=true")), page.getByRole("button", { name: "Dry run" }).click()]);
    equal(JSON.parse(request.postData()), { all: true, verify: { kinds: ["send_lat"], unknown: "pass" } }, "the request");
    equal([200, 409].includes((await request.response()).status()), true, "it is one that the server takes");
  });
  await inspect(page, "rollout-verify");
} finally {
  await browser.close();
}
done();
