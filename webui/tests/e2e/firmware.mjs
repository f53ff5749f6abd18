// Drives firmware: what runs where, an image, a campaign up to its start. See tests/web/check_firmware.py.
import { call, done, equal, goTo, inspect, launch, login, noFaults, test, until } from "./browser.mjs";

const browser = await launch();
try {
  await until(async () => (await call("GET", "/v1/firmware/compliance")).json.items.length > 0, "what runs on the nodes");
  const page = await login(browser, "olga", "operator");
  await goTo(page, "/firmware", "Firmware");
  await test("versions stand by board, with their nodes", async () => {
    const [item] = (await call("GET", "/v1/firmware/compliance")).json.items;
    await page.getByRole("heading", { level: 2, name: item.component }).waitFor();
    await page.getByRole("columnheader", { name: item.version }).waitFor();
    await page.getByText(item.nodes.join(", ")).waitFor();
  });
  await inspect(page, "firmware");

  await test("an image is uploaded, with its sum made here", async () => {
    await goTo(page, "/firmware?tab=images", "Firmware");
    await page.getByText("No image is stored").waitFor();
    await page.locator('input[name="image"]').setInputFiles({ name: "fw.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(300_000, 7) });
    await page.getByRole("textbox", { name: "Component" }).fill("dp_sim");
    await page.getByRole("textbox", { name: "Version" }).fill("9.9.9");
    await page.getByRole("textbox", { name: "Board (PSID)" }).fill("SIM_0000000001");
    await page.getByRole("button", { name: "Upload" }).click();
    await page.getByRole("cell", { name: "fw.bin" }).waitFor();
    equal((await call("GET", "/v1/firmware/images")).json.items.map((i) => [i.component, i.version, i.size_bytes]), [["dp_sim", "9.9.9", 300_000]], "images");
    noFaults(page);
  });
  await inspect(page, "firmware-images");
  await test("a dry run of a campaign says what it would take, and makes none", async () => {
    await goTo(page, "/firmware?tab=campaigns", "Firmware");
    await page.locator('select[name="image"]').selectOption({ index: 1 });
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText(/Would take \d+ devices/).waitFor();
    equal((await call("GET", "/v1/firmware/campaigns")).json.items, [], "campaigns");
  });
  await inspect(page, "firmware-campaigns");
  await test("its waves and windows are those of the contract, and the dry run says when it may begin", async () => {
    await page.getByText("Waves, windows and deadlines").click();
    const add = async (member) => {
      await page.getByLabel("More of campaign").selectOption(member);
      await page.getByRole("button", { name: "Add campaign", exact: true }).click();
    };
    await add("canary");
    await page.getByLabel("canary", { exact: true }).fill("2");
    await page.getByLabel("canary", { exact: true }).press("Tab");
    await add("windows");
    await page.getByRole("button", { name: "Add windows", exact: true }).click();
    for (const [name, at] of [["from", "2100-01-02T22:00:00Z"], ["until", "2100-01-03T04:00:00Z"]]) {
      await page.getByLabel(name, { exact: true }).fill(at);
      await page.getByLabel(name, { exact: true }).press("Tab");
    }
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText(/Window: closed, opens 02\/01\/2100/).waitFor();
    noFaults(page);
  });
  await inspect(page, "firmware-campaign-windows");
  await test("a campaign is made, and has not begun", async () => {
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.waitForURL("**/campaigns/*");
    await page.getByRole("button", { name: "Start" }).waitFor();
    await page.getByText("2100-01-02T22:00:00Z - 2100-01-03T04:00:00Z").waitFor();
  });
  await inspect(page, "campaign");
  await test("it is cancelled when its id is typed", async () => {
    const id = (await call("GET", "/v1/firmware/campaigns")).json.items[0].id;
    await page.getByRole("button", { name: "Cancel the campaign" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(`Type ${id} to confirm`).fill(id);
    await dialog.getByRole("button", { name: "Cancel the campaign" }).click();
    await page.locator("h1 + .badge", { hasText: "cancelled" }).waitFor();
  });
} finally {
  await browser.close();
}
done();
