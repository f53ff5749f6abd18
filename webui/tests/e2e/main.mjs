// Drives the web UI through what people do with it, in order. See tests/web/check_screens.py.
import { adminToken, done, equal, inspect, launch, noFaults, open, PASSWORD, test, until, url } from "./browser.mjs";

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
  await admin.goto(url + "/");
  await admin.getByRole("heading", { name: "Fleet" }).waitFor();
  await admin.getByText("Nodes by state").waitFor();
  await inspect(admin, "overview");
} finally {
  await browser.close();
}
done();
