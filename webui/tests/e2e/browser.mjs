// What the drives share: one Chromium, TAP, axe, pictures. Every wait is bounded.
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { chromium } from "playwright-core";

export const url = process.env.STELLAR_URL;
export const adminToken = process.env.STELLAR_TOKEN;
export const PASSWORD = "correct horse battery";
const shots = process.env.STELLAR_SHOTS;
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WAIT_MS = 30_000;
const TABS_MAX = 250;
const OPTIONS_MAX = 50;

let count = 0;
let failed = 0;
let current = null; // the page that is driven

/** A test: fn throws = it failed, and the drive goes on. */
export async function test(sentence, fn) {
  count += 1;
  try {
    await fn();
    console.log(`ok ${count} - ${sentence}`);
  } catch (cause) {
    failed += 1;
    console.log(`not ok ${count} - ${sentence}`);
    if (current !== null) await shot(current, `failed-${count}`).catch(() => undefined);
    for (const line of String(cause?.stack ?? cause).split("\n").slice(0, 25)) console.log(`# ${line}`);
  }
}

export function done() {
  console.log(`1..${count}`);
  process.exit(failed === 0 ? 0 : 1);
}

export function equal(got, wanted, what = "value") {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

export async function launch() {
  return chromium.launch({
    executablePath: process.env.STELLAR_CHROMIUM,
    // As root in a container there is no other way; the pages are our own.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}

/** A page that counts what must not happen: errors, refusals of its policy, requests elsewhere. */
export async function open(browser, options = {}, known = null) {
  const context = known ?? await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", ...options });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  current = page;
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.stack ?? error}`));
  page.on("console", (message) => {
    const text = message.text();
    // A 4xx of the API is an answer; Chromium writes each into the console.
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) page.faults.push(`console: ${text}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("blob:")) page.faults.push(`asked elsewhere: ${request.url()}`);
  });
  return page;
}

export function noFaults(page) {
  const faults = page.faults.splice(0);
  if (faults.length > 0) throw new Error(faults.slice(0, 5).join("\n"));
}

/** What axe finds on the page as it is now. */
export async function axe(page, name, only = null) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async (rules) => {
    const tags = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
    const result = await globalThis.axe.run(document, { runOnly: rules === null ? tags : { type: "rule", values: rules } });
    return result.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join(" | ")}`);
  }, only);
  if (found.length > 0) throw new Error(`${name}: ${found.join("\n")}`);
}

/** Every table has its CSV beside it, every chart its points as a table. */
export async function manners(page) {
  const found = await page.evaluate(() => {
    const bad = [];
    for (const table of document.querySelectorAll("table")) {
      const owner = table.closest("[data-table], figure, .panel, section");
      if (![...(owner?.querySelectorAll("button") ?? [])].some((button) => /^CSV/.test(button.textContent.trim()))) bad.push(`a table without CSV: ${table.textContent.trim().slice(0, 80)}`);
    }
    for (const canvas of document.querySelectorAll("canvas")) if (canvas.closest("figure")?.querySelector("details table") == null) bad.push("a chart without its table");
    return bad;
  });
  if (found.length > 0) throw new Error(found.join("\n"));
}

/** No text of a heading, a button or a state is cut, and none of a cell that does not tell all of it by its title. */
export async function cut(page) {
  const found = await page.evaluate(() => {
    const bad = [];
    for (const one of document.querySelectorAll("main h1, main h2, main h3, button, .button, .badge, th, dt, nav a, td, label")) {
      if (one.closest(".sr, details:not([open])") !== null || one.clientWidth === 0 || one.title !== "") continue;
      const style = getComputedStyle(one);
      if (style.overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1) bad.push(`${one.tagName}: ${one.textContent.trim().slice(0, 60)}`);
    }
    return bad;
  });
  if (found.length > 0) throw new Error(found.slice(0, 10).join("\n"));
}

/** The page is no wider than the window (WCAG 2.2, 1.4.10); what is within a box that scrolls may be. */
export async function sideways(page) {
  const found = await page.evaluate(() => {
    const root = document.scrollingElement;
    if (root.scrollWidth <= root.clientWidth) return null;
    const wide = [...document.querySelectorAll("body *")].filter((one) => {
      for (let box = one.parentElement; box !== null && box !== document.body; box = box.parentElement) if (getComputedStyle(box).overflowX !== "visible") return false;
      return one.getBoundingClientRect().right > root.clientWidth + 1;
    });
    return `${root.scrollWidth} of ${root.clientWidth}: ${wide.slice(0, 6).map((one) => `${one.tagName}.${one.className} ${one.textContent.trim().slice(0, 30)}`).join(" | ")}`;
  });
  if (found !== null) throw new Error(found);
}

export async function shot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** One screen in light and dark: no faults, axe clean, a picture of each. */
export async function inspect(page, name) {
  await page.waitForLoadState("domcontentloaded");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await test(`axe finds nothing on ${name}, ${colorScheme}`, () =>
      // In dark the page differs by its colours alone.
      axe(page, name, colorScheme === "dark" ? ["color-contrast"] : null));
    await shot(page, `${name}-${colorScheme}`);
  }
  await test(`tables and charts of ${name} can be taken along and read`, () => manners(page));
  await page.emulateMedia({ colorScheme: "light" });
  await test(`nothing went wrong on ${name}`, () => noFaults(page));
}

/** The API as the admin, beside the browser. */
export async function call(method, path, body, headers = {}) {
  const answer = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${adminToken}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(WAIT_MS),
  });
  const text = await answer.text();
  return { status: answer.status, etag: answer.headers.get("ETag"), json: text === "" ? null : JSON.parse(text) };
}

/** Until fn gives something true; bounded. */
export async function until(fn, what) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const value = await fn();
    if (value) return value;
    if (Date.now() > end) throw new Error(`it did not come: ${what}`);
    await new Promise((next) => setTimeout(next, 250));
  }
}

/** A page of a user with this role, made through the API and logged in by the form. */
export async function login(browser, name, role) {
  const made = await call("POST", "/v1/users", { name, role, password: PASSWORD });
  if (made.status !== 201) throw new Error(`${name}: ${made.status} ${JSON.stringify(made.json)}`);
  const page = await open(browser);
  await page.goto(url + "/");
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  return page;
}

/** To a path, until its heading is there. */
export async function goTo(page, path, heading) {
  current = page;
  await page.goto(url + path);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

/** What a person does who drags a file to the JSON of a policy. */
export async function drag(page, doc) {
  const data = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "seed.json", { type: "application/json" }));
    return transfer;
  }, JSON.stringify(doc));
  await page.getByRole("region", { name: "JSON" }).dispatchEvent("drop", { dataTransfer: data });
}

/** Tab until what has the focus is it, and see that it shows so; bounded: a trap of the keyboard fails. */
export async function tabTo(page, locator) {
  await locator.waitFor({ state: "attached" });
  for (let i = 0; i < TABS_MAX; i += 1) {
    const at = await locator.evaluate((one) => {
      if (one !== document.activeElement) return "elsewhere";
      const drawn = (box) => box !== null && getComputedStyle(box).outlineStyle !== "none" && parseFloat(getComputedStyle(box).outlineWidth) > 0;
      return drawn(one) || drawn(one.closest("label")) ? "here" : "here, unseen";
    });
    if (at === "here") return;
    if (at !== "elsewhere") throw new Error("what has the focus does not show it");
    await page.keyboard.press("Tab");
  }
  throw new Error("the keyboard does not get there");
}

/** What a person does: with a mouse, or with the keyboard alone (STELLAR_HANDS=keyboard). */
export const byKeyboard = process.env.STELLAR_HANDS === "keyboard";

export async function press(page, locator) {
  if (!byKeyboard) return locator.click();
  await tabTo(page, locator);
  await page.keyboard.press("Enter");
}

export async function write(page, locator, text) {
  if (!byKeyboard) return locator.fill(text);
  await tabTo(page, locator);
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
}

export async function choose(page, locator, value) {
  if (!byKeyboard) return locator.selectOption(value);
  await tabTo(page, locator);
  const select = await locator.elementHandle(); // its label may be another in the next language
  await page.keyboard.press("Home");
  for (let i = 0; i < OPTIONS_MAX && (await select.inputValue()) !== value; i += 1) await page.keyboard.press("ArrowDown");
  equal(await select.inputValue(), value, "the choice");
}

/** To a screen: by its address, or through these links one after another. */
export async function way(page, path, heading, ...links) {
  if (!byKeyboard) return goTo(page, path, heading);
  current = page;
  for (const link of links) await press(page, page.getByRole("link", { name: link, exact: true }).first());
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

/** A document into the text of an editor: dragged there, or chosen as a file. */
export async function bring(page, doc) {
  if (!byKeyboard) return drag(page, doc);
  const input = page.getByRole("region", { name: "JSON" }).locator('input[type="file"]');
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), press(page, input)]);
  await chooser.setFiles({ name: "seed.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(doc)) });
}
