// Times of pages in Chromium, ours and others' in turn; see tests/bench/web.py, which prints them. One line of JSON.
import { chromium } from "playwright-core";

const { url, name, password, peers, rounds, rows } = JSON.parse(process.env.STELLAR_BENCH);
const LOGIN_KEY = "stellar.language";
const STEPS = 240; // of the scroll from the first row to the last
const WAIT_MS = 60_000;

const browser = await chromium.launch({ executablePath: process.env.STELLAR_CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });

/** First contentful paint of an address in a browser that has nothing of it, in ms. */
async function paint(address, state) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", ...(state === undefined ? {} : { storageState: state }) });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    await page.goto(address);
    return await page.evaluate(() => new Promise((done) => {
      new PerformanceObserver((list, self) => {
        const first = list.getEntriesByName("first-contentful-paint")[0];
        if (first === undefined) return;
        self.disconnect();
        done(first.startTime);
      }).observe({ type: "paint", buffered: true });
    }));
  } finally {
    await context.close();
  }
}

async function login() {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(url);
  await page.evaluate((key) => localStorage.setItem(key, "en"), LOGIN_KEY);
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** The table of nodes: until its rows stand there, how it scrolls, how long a filter takes. In ms. */
async function table(state) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", storageState: state });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const wanted = `${rows} of ${rows}`;
    await page.addInitScript(() => {
      const look = () => (document.querySelector(".window tbody a") === null ? requestAnimationFrame(look) : requestAnimationFrame(() => (globalThis.firstRowsMs = performance.now())));
      addEventListener("DOMContentLoaded", look);
    });
    const standsThere = (text) => page.evaluate((wanted) => new Promise((done) => {
      const look = () => (document.querySelector("main [role=status]")?.textContent === wanted && document.querySelector(".window tbody a") !== null ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look));
      look();
    }), text);
    await page.goto(`${url}/nodes`, { waitUntil: "commit" });
    const readyMs = await standsThere(wanted);
    const asked = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.includes("/v1/nodes?")).map((one) => [one.startTime, one.responseEnd]));
    const scroll = await page.evaluate(async (steps) => {
      const box = document.querySelector(".window");
      const frame = () => new Promise((next) => requestAnimationFrame(next));
      const gaps = [];
      let blank = 0;
      let last = await frame();
      for (let i = 1; i <= steps; i += 1) {
        box.scrollTop = (i / steps) * (box.scrollHeight - box.clientHeight);
        const now = await frame();
        gaps.push(now - last);
        last = now;
        const middle = box.getBoundingClientRect();
        if (document.elementFromPoint(middle.left + 60, middle.top + middle.height / 2)?.closest("tr[aria-rowindex]") == null) blank += 1;
      }
      return { gaps, blank };
    }, STEPS);
    const filterMs = await page.evaluate((word) => new Promise((done) => {
      const input = document.querySelector('input[name="filter"]');
      const start = performance.now();
      input.value = word;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      const look = () => (document.querySelectorAll(".window tbody a").length === 1 ? requestAnimationFrame(() => done(performance.now() - start)) : requestAnimationFrame(look));
      look();
    }), `node-${rows - 1}`);
    return { firstMs: await page.evaluate(() => globalThis.firstRowsMs), readyMs, firstAskedMs: Math.min(...asked.map(([at]) => at)), answers: asked.length, readMs: Math.max(...asked.map(([, end]) => end)) - Math.min(...asked.map(([at]) => at)), ...scroll, filterMs };
  } finally {
    await context.close();
  }
}

const result = { login: [], overview: [], peers: Object.fromEntries(Object.keys(peers).map((key) => [key, []])), tables: [] };
try {
  const state = await login();
  await paint(url); // the browser's own first page is slower than all others
  for (let round = 0; round < rounds; round += 1) {
    result.login.push(await paint(url));
    for (const [key, address] of Object.entries(peers)) result.peers[key].push(await paint(address));
    result.overview.push(await paint(url, state));
  }
  for (let round = 0; round < rounds; round += 1) result.tables.push(await table(state));
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
}
