// Drives the editor of the fabric profile: form, text, rules, dry run, conflict, history. See tests/web/check_fabric.py.
import { call, done, equal, goTo, inspect, launch, login, noFaults, test, until } from "./browser.mjs";

const browser = await launch();
try {
  const admin = await login(browser, "eva", "admin");
  const json = admin.getByRole("textbox", { name: "JSON" });
  const document = async () => JSON.parse(await json.inputValue());
  const group = (name) => admin.locator("fieldset").filter({ has: admin.locator(`> legend code:text-is("${name}")`) });

  await test("an empty server offers the least profile and stores it when saved", async () => {
    await goTo(admin, "/fabric", "Fabric profile");
    await admin.getByText("There is no profile yet").waitFor();
    equal((await call("GET", "/v1/fabric")).status, 404, "nothing is stored");
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByText("Stored as revision 1.").waitFor();
    noFaults(admin);
  });
  await test("a member is added from the schema, with its hint, and stands in the text too", async () => {
    await admin.getByLabel("More of fabric_profile").selectOption("mtu_bytes");
    await admin.getByRole("button", { name: "Add fabric_profile", exact: true }).click();
    const mtu = admin.getByLabel("mtu_bytes", { exact: true });
    equal(await mtu.inputValue(), "1280", "the least there can be");
    await admin.getByText("MTU of every port; not managed when left out.").waitFor();
    equal((await document()).fabric_profile.mtu_bytes, 1280);
  });
  await test("what the rules refuse stands beside its field as one types", async () => {
    const mtu = admin.getByLabel("mtu_bytes", { exact: true });
    await mtu.fill("9");
    await mtu.press("Tab");
    await admin.locator('input[name="/fabric_profile/mtu_bytes"][aria-invalid="true"]').waitFor();
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.locator('[data-code="fabric-refused"]').waitFor();
  });
  await inspect(admin, "fabric-refused");
  await test("lists of objects and of numbers are changed in the form", async () => {
    const mtu = admin.getByLabel("mtu_bytes", { exact: true });
    await mtu.fill("4200");
    await mtu.press("Tab");
    await admin.getByRole("button", { name: "Add priorities", exact: true }).click();
    const second = group("priorities 2");
    await second.getByLabel("priority", { exact: true }).fill("3");
    await second.getByLabel("More of priorities 2").selectOption("dscps");
    await second.getByRole("button", { name: "Add priorities 2", exact: true }).click();
    await second.getByLabel("dscps", { exact: true }).fill("26, 27");
    await second.getByLabel("More of priorities 2").selectOption("lossless");
    await second.getByRole("button", { name: "Add priorities 2", exact: true }).click();
    await second.getByLabel("lossless", { exact: true }).check();
    equal((await document()).fabric_profile, { priorities: [{ priority: 0, dscps: [0] }, { priority: 3, dscps: [26, 27], lossless: true }], mtu_bytes: 4200 });
  });
  await test("a dry run says which nodes it would change, and saving changes them", async () => {
    await admin.getByRole("button", { name: "Dry run" }).click();
    await admin.getByRole("heading", { name: /Would change 3 nodes/ }).waitFor();
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByText("Stored as revision 2.").waitFor();
    await until(async () => (await call("GET", "/v1/nodes/n1")).json.in_sync, "n1 in sync");
    noFaults(admin);
  });
  await inspect(admin, "fabric");
  await test("what somebody else changed in between is shown and not lost", async () => {
    const now = await call("GET", "/v1/fabric");
    const theirs = structuredClone(now.json);
    theirs.fabric_profile.mtu_bytes = 9000;
    equal((await call("PUT", "/v1/fabric", theirs, { "If-Match": now.etag })).status, 200, "theirs");
    const mtu = admin.getByLabel("mtu_bytes", { exact: true });
    await mtu.fill("1500");
    await mtu.press("Tab");
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByText("both changed it").waitFor();
    await admin.getByRole("button", { name: "Take theirs" }).click();
    equal(await mtu.inputValue(), "9000", "theirs");
  });
  await test("history compares and goes back", async () => {
    await admin.getByRole("link", { name: "History" }).click();
    await admin.getByRole("row", { name: /^2 / }).getByRole("button", { name: "Compare" }).click();
    await admin.getByRole("heading", { name: "From revision 2 to 3" }).waitFor();
    await admin.getByRole("row", { name: /^2 / }).getByRole("button", { name: "Go back" }).click();
    const dialog = admin.getByRole("dialog");
    await dialog.getByLabel("Type fabric to confirm").fill("fabric");
    await dialog.getByRole("button", { name: "Go back" }).click();
    await until(async () => (await call("GET", "/v1/fabric")).json.fabric_profile.mtu_bytes === 4200, "revision 4");
  });
  await inspect(admin, "fabric-history");
} finally {
  await browser.close();
}
done();
