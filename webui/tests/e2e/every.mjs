// Every screen of src/screens.ts, as an administrator or as a tenant's. See tests/web/check_every_*.py.
// A screen that is new is here by itself; one with a part of its path that has no sample below fails.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { adminToken, axe, call, cut, done, equal, launch, login, manners, noFaults, PASSWORD, shot, sideways, test, until, url } from "./browser.mjs";

const AS = process.env.STELLAR_AS; // "admin" or "tenant"
const SETTLED_MS = 10_000;
const QUIET_MS = 250; // nothing on the page changed for so long
const MOST_MS = 3000;
const STALE_MS = 45_000; // longer than src/lib/live.svelte.ts waits

/** The rows of the table of screens: path, and whether only tenants may see it. */
function screens() {
  const text = readFileSync("src/screens.ts", "utf8");
  const rows = [...text.matchAll(/\{ path: "([^"]+)", title: "[^"]+",(.*) load: \(\) => of\(/g)].map(([, path, rest]) => ({ path, tenants: /roles: TENANTS/.test(rest), staff: /roles: (STAFF|OPS)/.test(rest) }));
  equal(rows.length, (text.match(/load: \(\) => of\(/g) ?? []).length, "rows of src/screens.ts that were read");
  return rows;
}

const must = async (method, path, body, headers) => {
  const answer = await call(method, path, body, headers);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.json)}`);
  return answer.json;
};
const NEW = { "If-None-Match": "*" };

/** Something on each screen; gives a sample of each part of a path. */
async function seed() {
  await must("PUT", "/v1/fabric", { fabric_profile: { mtu_bytes: 4200, priorities: [{ priority: 0, dscps: [0] }, { priority: 2, dscps: [18] }, { priority: 3, dscps: [26], lossless: true }] } }, NEW);
  for (const node of ["n1", "n2", "n3"]) await until(async () => (await call("GET", `/v1/nodes/${node}`)).json.sync === "in-sync", `${node} has its first plan`);
  await must("PUT", "/v1/tenants/vision", { quota: { jobs_max: 4, guarantee_max: "50%" } }, NEW);
  for (const [i, job] of ["cv_job", "nlp_job"].entries()) await must("PUT", `/v1/tenants/vision/placements/${job}`, { selector: { rack: "a" }, match: { ip_proto: "udp", dst_port: 4791 + i } }, NEW);
  const mode = await call("GET", "/v1/rollout-policy");
  await must("PUT", "/v1/rollout-policy", { ...mode.json, mode: "staged" }, mode.etag === null ? NEW : { "If-Match": mode.etag });
  await must("PUT", "/v1/tenants/vision/policy", { qos_policy: { cv_job: { bw_limit: "60%", priority: 2 }, nlp_job: { bw_guarantee: "40%", priority: 3 } } }, NEW);
  await until(async () => (await call("GET", "/v1/nodes/n1")).json.sync === "held", "n1 waits for a rollout");
  const rollout = (await must("POST", "/v1/rollouts", { all: true })).id;
  await must("POST", "/v1/users", { name: "bob@vision", role: "tenant-user", password: PASSWORD });
  await until(async () => (await call("GET", "/v1/firmware/compliance")).json.items.length > 0, "what runs on the nodes");
  const bytes = Buffer.alloc(5000, 7);
  const image = await fetch(`${url}/v1/firmware/images?component=dp_sim&version=9.9.9&name=fw.bin&sha256=${createHash("sha256").update(bytes).digest("hex")}`, {
    method: "POST", body: bytes, headers: { Authorization: `Bearer ${adminToken}`, "Content-Type": "application/octet-stream" },
  });
  if (!image.ok) throw new Error(`the image: ${image.status} ${await image.text()}`);
  const campaign = (await must("POST", "/v1/firmware/campaigns", { image: (await image.json()).id, all: true })).id;
  const verification = (await must("POST", "/v1/verifications", { kinds: ["send_lat", "mesh"], all: true, message: "after the cables were changed" })).id;
  const incident = await until(async () => (await call("GET", "/v1/incidents?state=open")).json.items[0]?.id, "an incident of n9");
  await must("POST", "/v1/health/reports", { version: 1, kind: "upload", source: "cablecheck 2.1", time: "2026-01-02T03:04:05Z", grade: "warning", new: [{ rule: "fcs-errors", subject: "n1", severity: "warning", message: "12 frames" }] });
  await until(async () => (await call("GET", "/v1/nodes/n1")).json.generation_applied > 0, "a plan on n1");
  return { node: "n1", tenant: "vision", job: "nlp_job", incident: String(incident), runbook: "packet-loss", report: "current", rollout, campaign, verification };
}

/** Until the page has its heading and nothing on it is still being read. */
async function settle(page) {
  await page.locator("main h1, main > p").first().waitFor();
  await page.waitForFunction(() => !/^(Loading|正在)/.test(document.querySelector("main [role=status]")?.textContent ?? ""), null, { timeout: SETTLED_MS });
  await page.evaluate(([quiet, most]) => new Promise((next) => {
    const end = setTimeout(next, most);
    let timer = setTimeout(next, quiet);
    new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => { clearTimeout(end); next(); }, quiet);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }), [QUIET_MS, MOST_MS]);
}

const named = (path) => (path === "/" ? "overview" : path.slice(1).replace(/[/?={}]+/g, "-").replace(/-$/, ""));

/** All that is asked of a screen as it is now. */
async function look(page, name, languages) {
  await test(`axe finds nothing on ${name}`, () => axe(page, name));
  await test(`tables, charts and what stands in them on ${name}`, () => manners(page));
  await shot(page, `${AS}-${name}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  await test(`axe finds nothing on ${name} in dark`, () => axe(page, name, ["color-contrast"]));
  await shot(page, `${AS}-${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
  for (const language of languages) {
    await page.locator('select[name="language"]').selectOption(language);
    if (language !== "en") await settle(page);
    await test(`nothing is cut on ${name} in ${language}`, () => cut(page));
    if (language !== "en") await test(`axe finds nothing on ${name} in ${language}`, () => axe(page, name, ["color-contrast", "button-name", "link-name", "label", "html-has-lang", "valid-lang"]));
    if (language !== "en") await shot(page, `${AS}-${name}-${language}`);
  }
  await page.locator('select[name="language"]').selectOption("en");
  const size = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 800 });
  await test(`${name} is read at 320 pixels without moving sideways`, () => sideways(page));
  await shot(page, `${AS}-${name}-narrow`);
  await page.setViewportSize(size);
  await test(`nothing went wrong on ${name}`, () => noFaults(page));
}

const browser = await launch();
try {
  let samples = {};
  await test("there is something to see on each screen", async () => {
    samples = await seed();
  });
  const page = await login(browser, AS === "admin" ? "eva" : "ann@vision", AS === "admin" ? "admin" : "tenant-admin");
  for (const screen of screens()) {
    if (AS === "admin" ? screen.tenants : screen.staff) continue;
    const parts = [...screen.path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part);
    const lacking = parts.filter((part) => samples[part] === undefined);
    if (lacking.length > 0) {
      await test(`${screen.path} has a sample of ${lacking.join(", ")} in every.mjs`, () => { throw new Error("add it to seed()"); });
      continue;
    }
    const path = screen.path.replace(/\{(\w+)\}/g, (_, part) => encodeURIComponent(samples[part]));
    const seen = new Set();
    // The samples' incident is a node's: to a tenant it is not there.
    for (const todo = AS === "tenant" && parts.includes("incident") ? [] : [path]; todo.length > 0;) {
      const at = todo.shift();
      if (seen.has(at)) continue;
      seen.add(at);
      const name = named(screen.path) + (at.includes("?") ? `-${at.split("=")[1]}` : "");
      await test(`${at} opens`, async () => {
        await page.goto(url + at);
        await settle(page);
        for (const refusal of ["Your role may not see this.", "There is no such page."]) equal(await page.getByText(refusal).count(), 0, refusal);
        equal(await page.locator("main .problem").count(), 0, "refusals");
      });
      await look(page, name, seen.size === 1 || AS === "admin" ? ["en", "zh"] : ["en"]);
      for (const link of await page.locator("main nav a[href*='tab=']").evaluateAll((all) => all.map((a) => a.getAttribute("href")))) todo.push(link);
    }
    if (parts.length > 0)
      await test(`${screen.path} of what is not there says so`, async () => {
        await page.goto(url + screen.path.replace(/\{(\w+)\}/g, "987654"));
        await settle(page);
        await page.locator("main .problem, main p").first().waitFor();
        await axe(page, `${screen.path} of nothing`);
        noFaults(page);
      });
  }
  if (AS === "admin") {
    // An agent tells what its node is a minute after a plan, at the latest.
    await test("the knobs of a node in sync stand there, each with its three states and its owner", async () => {
      await until(async () => (await call("GET", "/v1/nodes/n1/state")).status === 200, "the state of n1");
      await page.goto(`${url}/nodes/n1?tab=knobs`);
      const row = page.getByRole("row", { name: /link\.mtu/ }).first();
      await row.waitFor();
      equal((await page.getByRole("columnheader").allInnerTexts()).map((text) => text.trim()).filter((text) => ["Live", "Persisted", "Next boot", "Owner"].includes(text)), ["Live", "Persisted", "Next boot", "Owner"], "states and owner");
      equal(/4200/.test(await row.innerText()), true, await row.innerText());
    });
    await look(page, "nodes-node-knobs-told", ["en", "zh"]);
  }
  await test("a path of no screen says so", async () => {
    await page.goto(`${url}/no/such`);
    await page.getByText("There is no such page.").waitFor();
    await axe(page, "no such page");
  });
  if (AS === "admin")
    await test("what is shown gets a mark with its age while the server says nothing, and loses it again", async () => {
      await page.goto(url + "/");
      await page.locator('[data-live="live"]').waitFor();
      process.kill(Number(process.env.STELLAR_PID), "SIGSTOP");
      try {
        const badge = page.locator('[data-live="stale"]');
        await badge.waitFor({ timeout: STALE_MS });
        equal(/data from \d+ s ago/.test(await badge.innerText()), true, await badge.innerText());
        await axe(page, "stale");
        await shot(page, "stale");
      } finally {
        process.kill(Number(process.env.STELLAR_PID), "SIGCONT");
      }
      await page.locator('[data-live="live"]').waitFor();
    });
} finally {
  await browser.close();
}
done();
