// Drives the web UI through what people do with it, in order. See tests/web/check_screens.py.
import { adminToken, call, done, equal, inspect, launch, noFaults, open, PASSWORD, shot, test, until, url } from "./browser.mjs";

const browser = await launch();
try {
  const page = await open(browser);

  await page.goto(url + "/nodes");
  await page.getByLabel("User name").waitFor();
  await inspect(page, "login");

  await test("a wrong password is said so", async () => {
    await page.getByLabel("User name").fill("eva");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Name or password is wrong.").waitFor();
  });

  await test("the first administrator is made with the token of the data folder", async () => {
    await page.getByRole("link", { name: /First start/ }).click();
    await page.getByLabel(/Token from/).fill(adminToken);
    await page.getByLabel("Name of the new administrator").fill("eva");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Make the administrator" }).click();
    await page.getByRole("button", { name: "Log out" }).waitFor();
    noFaults(page);
  });

  await test("the page is live by one stream", async () => {
    await page.goto(url + "/");
    await page.locator('[data-live="live"]').waitFor();
    const other = await open(browser, {}, page.context());
    let streams = 0;
    other.on("request", (request) => (streams += request.headers()["accept"] === "text/event-stream" ? 1 : 0));
    await other.goto(url + "/");
    await other.locator('[data-live="live"]').waitFor();
    equal(streams, 0, "streams of the second tab");
    await page.close();
    await until(() => streams === 1, "the second tab's stream when the first is closed");
    await other.locator('[data-live="live"]').waitFor();
    await other.close();
  });
  const admin = await open(browser, {}, page.context());
  const go = async (path, heading) => {
    await admin.goto(url + path);
    await admin.getByRole("heading", { level: 1, name: heading }).waitFor();
  };

  await go("/steps", "First steps");
  await inspect(admin, "steps");
  await test("the first steps make a profile and a tenant", async () => {
    await admin.getByRole("button", { name: "Store this profile" }).click();
    await admin.getByLabel("Name", { exact: true }).fill("vision");
    await admin.getByRole("button", { name: "Create", exact: true }).click();
    await admin.getByRole("link", { name: "Policy of vision" }).waitFor();
    equal((await call("GET", "/v1/fabric")).status, 200, "the profile");
    noFaults(admin);
  });
  await call("PUT", "/v1/tenants/vision/placements/nlp_job", { selector: { rack: "a" }, match: { ip_proto: "udp", dst_port: 4791 } }, { "If-None-Match": "*" });

  await test("a policy that is refused says so beside the field that it names", async () => {
    await admin.getByRole("link", { name: "Policy of vision" }).click();
    await admin.locator('input[type="file"]').setInputFiles({ name: "policy.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify({ qos_policy: { nlp_job: { priority: 3, bw_guarantee: "40%", bw_limit: "30%" } } })) });
    await admin.locator("fieldset").getByText("limit-below-guarantee").waitFor();
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.locator('[data-code="policy-refused"]').waitFor();
    equal((await call("GET", "/v1/tenants/vision/policy")).status, 404, "nothing was stored");
  });
  await inspect(admin, "policy-refused");
  await test("the form and the text are the same document", async () => {
    const limit = admin.locator('input[name="nlp_job.bw_limit"]');
    await limit.fill("");
    await limit.press("Tab");
    equal(JSON.parse(await admin.getByRole("textbox", { name: "JSON" }).inputValue()), { qos_policy: { nlp_job: { priority: 3, bw_guarantee: "40%" } } });
  });
  await test("a file that is dropped is the new text", async () => {
    const data = await admin.evaluateHandle((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], "seed.json", { type: "application/json" }));
      return transfer;
    }, JSON.stringify({ qos_policy: { nlp_job: { priority: 3, bw_guarantee: "40%" }, cv_job: { priority: 2, bw_limit: "60%" } } }));
    await admin.getByRole("region", { name: "JSON" }).dispatchEvent("drop", { dataTransfer: data });
    await admin.locator("legend", { hasText: "cv_job" }).first().waitFor();
  });
  await test("a dry run shows what would change and stores nothing", async () => {
    await admin.getByRole("button", { name: "Dry run" }).click();
    await admin.getByRole("heading", { name: /Would change 2 nodes/ }).waitFor();
    equal((await call("GET", "/v1/tenants/vision/policy")).status, 404, "nothing was stored");
  });
  await inspect(admin, "policy-preview");
  await test("the policy that is accepted is stored and the nodes take it", async () => {
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByText("Stored as revision 1.").waitFor();
    await until(async () => (await call("GET", "/v1/nodes/n1")).json.in_sync, "n1 in sync");
  });
  await test("what somebody else changed in between is shown and not lost", async () => {
    const now = await call("GET", "/v1/tenants/vision/policy");
    await call("PUT", "/v1/tenants/vision/policy", { qos_policy: { nlp_job: { priority: 3, bw_guarantee: "45%" }, cv_job: { priority: 2, bw_limit: "60%" } } }, { "If-Match": now.etag });
    const guarantee = admin.locator('input[name="nlp_job.bw_guarantee"]');
    await guarantee.fill("35%");
    await guarantee.press("Tab");
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByText("both changed it").waitFor();
    await shot(admin, "policy-conflict");
    await admin.getByRole("button", { name: "Take theirs" }).click();
    equal(await guarantee.inputValue(), "45%", "theirs");
  });
  await test("history goes back to an old revision when its tenant's name is typed", async () => {
    await admin.getByRole("link", { name: "History" }).click();
    await admin.getByRole("button", { name: "Compare" }).click();
    await admin.getByRole("heading", { name: "From revision 1 to 2" }).waitFor();
    await admin.getByRole("button", { name: "Go back" }).click();
    const dialog = admin.getByRole("dialog");
    equal(await dialog.getByRole("button", { name: "Go back" }).isDisabled(), true, "without the name");
    const now = await call("GET", "/v1/tenants/vision/policy");
    await call("PUT", "/v1/tenants/vision/policy?message=in%20between", { qos_policy: { ...now.json.qos_policy, nlp_job: { priority: 3, bw_guarantee: "42%" } } }, { "If-Match": now.etag });
    await dialog.getByLabel("Type vision to confirm").fill("vision");
    await dialog.getByRole("button", { name: "Go back" }).click();
    // Not over what somebody stored since: that is shown beside both, and by whom.
    await dialog.getByText("Somebody else changed it meanwhile.").waitFor();
    await dialog.getByText(/ By .*: in between$/).waitFor();
    const cells = await dialog.getByRole("row", { name: /nlp_job\/bw_guarantee/ }).getByRole("cell").allInnerTexts();
    equal(cells.slice(1), ['"45%"', '"42%"', '"40%"'], "before, theirs, yours");
    equal((await call("GET", "/v1/tenants/vision/policy")).json.qos_policy.nlp_job.bw_guarantee, "42%", "nothing was overwritten");
    equal(await dialog.getByRole("button", { name: "Go back" }).isDisabled(), true, "without the name again");
  });
  await inspect(admin, "policy-lost-rollback");
  await test("and goes back all the same when the name is typed again", async () => {
    const dialog = admin.getByRole("dialog");
    await dialog.getByLabel("Type vision to confirm").fill("vision");
    await dialog.getByRole("button", { name: "Go back" }).click();
    await until(async () => (await call("GET", "/v1/tenants/vision/policy")).json.qos_policy.nlp_job.bw_guarantee === "40%", "revision 4");
  });
  await inspect(admin, "policy-history");

  await go("/", "Fleet");
  await admin.getByText("node.receipt").first().waitFor();
  await inspect(admin, "overview");

  await go("/nodes", "Nodes");
  await admin.getByRole("link", { name: "n3" }).waitFor();
  await test("what a table shows stands in the address, and comes back from it", async () => {
    await admin.getByRole("button", { name: "Name", exact: true }).click();
    await admin.getByRole("button", { name: "Name", exact: true }).click();
    await admin.getByLabel("Filter").fill("rack=a");
    await admin.waitForURL("**/nodes?sort=-name&q=rack%3Da");
    await admin.reload();
    await admin.getByText("2 of 3").waitFor();
    equal(await admin.locator("tbody a").allInnerTexts(), ["n2", "n1"], "rows");
    const [file] = await Promise.all([admin.waitForEvent("download"), admin.getByRole("button", { name: "CSV", exact: true }).click()]);
    equal(file.suggestedFilename(), "nodes.csv");
  });
  await inspect(admin, "nodes");
  await test("a link leads to the node and the back button to the same table", async () => {
    await admin.getByRole("link", { name: "n1" }).click();
    await admin.getByRole("heading", { level: 1, name: "n1" }).waitFor();
    await admin.goBack();
    await admin.getByText("2 of 3").waitFor();
  });
  for (const tab of ["ports", "chains", "knobs", "findings", "receipts", "counters"]) {
    await go(`/nodes/n1?tab=${tab}`, "n1");
    await admin.locator("main table tbody td, main nav ~ .dim, main li").first().waitFor();
    await inspect(admin, `node-${tab}`);
  }

  await test("a counter is drawn as a line, with its points as a table", async () => {
    await admin.getByRole("link", { name: "tx_bytes" }).first().click();
    await admin.locator("figure canvas").waitFor();
    await admin.getByText("The points as a table").click();
    await admin.getByRole("cell", { name: /bps$/ }).first().waitFor();
    noFaults(admin);
  });
  await inspect(admin, "node-counter");

  for (const [path, heading] of [["/tenants", "Tenants"], ["/users", "Users"], ["/tokens", "Tokens"], ["/rollouts", "Rollouts"], ["/audit", "Audit"]]) {
    await go(path, heading);
    await admin.getByRole("status").first().waitFor();
    await inspect(admin, path.slice(1));
  }
  await test("the chain of the audit is checked", async () => {
    await admin.getByRole("button", { name: "Check the chain" }).click();
    await admin.getByText(/The chain is whole: \d+ rows/).waitFor();
  });
  await test("a tenant's user is made, and a token is shown once", async () => {
    await go("/users", "Users");
    await admin.getByLabel("User name").fill("bob@vision");
    await admin.getByLabel("Password").fill(PASSWORD);
    await admin.locator('select[name="role"]').selectOption("tenant-admin");
    await admin.getByRole("button", { name: "Create", exact: true }).click();
    await admin.getByRole("cell", { name: "bob@vision", exact: true }).waitFor();
    await go("/tokens", "Tokens");
    await admin.getByRole("button", { name: "Create", exact: true }).click();
    await admin.getByText(/^st_/).waitFor();
    noFaults(admin);
  });

  await test("what somebody changed or deleted meanwhile is not deleted unseen", async () => {
    await call("PUT", "/v1/tenants/speech", { quota: { jobs_max: 2 } }, { "If-None-Match": "*" });
    await go("/tenants", "Tenants");
    const dialog = admin.getByRole("dialog");
    const drop = dialog.getByRole("button", { name: "Delete" });
    await admin.getByRole("button", { name: "Delete speech" }).click();
    await call("PUT", "/v1/tenants/speech", { quota: { jobs_max: 9 } }, { "If-Match": (await call("GET", "/v1/tenants/speech")).etag });
    await dialog.getByLabel("Type speech to confirm").fill("speech");
    await drop.click();
    await dialog.getByText(/Somebody else changed it meanwhile. By /).waitFor();
    equal(await dialog.getByRole("row", { name: /jobs_max/ }).getByRole("cell").allInnerTexts(), ["/quota/jobs_max", "2", "9"], "what changed");
    equal((await call("GET", "/v1/tenants/speech")).status, 200, "the tenant");
    await dialog.getByLabel("Type speech to confirm").fill("speech");
    await drop.click();
    await dialog.waitFor({ state: "detached" });
    equal((await call("GET", "/v1/tenants/speech")).status, 404, "the tenant");

    await call("POST", "/v1/users", { name: "carl", role: "auditor", password: PASSWORD });
    await go("/users", "Users");
    await admin.getByRole("button", { name: "Delete carl" }).click();
    await call("DELETE", "/v1/users/carl", undefined, { "If-Match": (await call("GET", "/v1/users/carl")).etag });
    await dialog.getByLabel("Type carl to confirm").fill("carl");
    await drop.click();
    await dialog.getByText(/Somebody else deleted it meanwhile. By /).waitFor();
    equal(await drop.count(), 0, "ways to delete what is gone");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    noFaults(admin);
  });

  await test("a copy of the store is made, stands in the list and can be fetched", async () => {
    await go("/server", "Server");
    await admin.getByText("No copy is kept").waitFor();
    await admin.getByRole("button", { name: "Make a copy" }).click();
    const link = admin.getByRole("link", { name: "Download" });
    const [file] = await Promise.all([admin.waitForEvent("download"), link.click()]);
    equal(/^stellar-.*\.db$/.test(file.suggestedFilename()), true, file.suggestedFilename());
  });
  await inspect(admin, "server");

  await test("10,000 rows are scrolled with few of them drawn", async () => {
    const big = await open(browser, {}, page.context());
    const items = Array.from({ length: 10_000 }, (_, i) => ({ name: `node-${i}`, revision: 1, etag: '"1"', labels: { rack: `r${i % 100}` }, in_sync: true, sync: "in-sync", stale: false }));
    await big.route("**/v1/nodes?*", (route) => route.fulfill({ json: { items } }));
    await big.goto(url + "/nodes");
    await big.getByText("10000 of 10000").waitFor();
    const drawn = await big.evaluate(async () => {
      const box = document.querySelector(".window");
      let most = 0;
      for (let top = 0; top < box.scrollHeight; top += box.scrollHeight / 40) {
        box.scrollTop = top;
        await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
        most = Math.max(most, box.querySelectorAll("tbody tr").length);
      }
      box.scrollTop = box.scrollHeight;
      await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
      return { most, last: box.textContent.includes("node-9999") };
    });
    equal([drawn.most < 120, drawn.last], [true, true], JSON.stringify(drawn));
    await big.close();
  });

  await test("all of it is there in Chinese", async () => {
    await go("/", "Fleet");
    await admin.getByLabel("Language").selectOption("zh");
    await admin.getByRole("heading", { level: 1, name: "集群" }).waitFor();
    equal(await admin.evaluate(() => document.documentElement.lang), "zh-Hans");
  });
  await inspect(admin, "overview-zh");
  await admin.getByLabel("语言").selectOption("en");

  await test("a tenant's user sees the tenant's own and nothing else", async () => {
    await admin.getByRole("button", { name: "Log out" }).click();
    await admin.getByLabel("User name").fill("bob@vision");
    await admin.getByLabel("Password").fill(PASSWORD);
    await admin.getByRole("button", { name: "Log in" }).click();
    await admin.getByRole("heading", { level: 1, name: "Tenant vision" }).waitFor();
    equal(await admin.getByRole("navigation").first().getByRole("listitem").allInnerTexts(), ["Home", "Report", "Incidents", "Users", "Tokens", "Audit", "API"], "the menu");
    await go("/tenants/vision/policy", "Policy of vision");
    await admin.locator("legend", { hasText: "nlp_job" }).first().waitFor();
    noFaults(admin);
  });
} finally {
  await browser.close();
}
done();
