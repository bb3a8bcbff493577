// The page of `bouncer gateway --ui` in a real Chromium: approving, races, expiry, hostile text, keys, and that
// nothing is loaded from elsewhere. Writes screenshots to target/page. See docs/tests.md.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Gateway, stopAll } from "./gateway.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, "..", "..");
const { values: flags } = parseArgs({
  options: {
    bouncer: { type: "string", default: path.join(root, "target", "debug", "bouncer") },
    chromium: { type: "string", default: "/usr/bin/chromium" },
    into: { type: "string", default: path.join(root, "target", "page") },
    only: { type: "string", default: "" },
  },
});
const into = path.resolve(flags.into);
const bouncer = path.resolve(flags.bouncer);
for (const program of [bouncer, flags.chromium]) {
  if (!existsSync(program)) {
    console.error(`there is no \`${program}\`: ${program === bouncer ? "build it with `cargo build`" : "install Debian's package `chromium`, or name a browser with `--chromium`"}`);
    process.exit(2);
  }
}
mkdirSync(into, { recursive: true });
install();
const { chromium } = createRequire(path.join(into, "package.json"))("playwright-core");
const scratch = mkdtempSync(path.join(tmpdir(), "bouncer-page-"));

function install() {
  const lock = "package-lock.json";
  const installed = path.join(into, lock);
  const wanted = readFileSync(path.join(here, lock), "utf8");
  if (existsSync(path.join(into, "node_modules")) && existsSync(installed) && readFileSync(installed, "utf8") === wanted) return;
  copyFileSync(path.join(here, "package.json"), path.join(into, "package.json"));
  copyFileSync(path.join(here, lock), installed);
  const npm = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: into, encoding: "utf8" });
  if (npm.status !== 0) throw new Error(`npm ci failed: ${npm.stderr}`);
}

// One browser, with a fresh directory for its data; each scene has a profile of its own in it. What that asks for, says
// and violates is noted.
const browser = await chromium.launch({
  executablePath: flags.chromium,
  headless: true,
  chromiumSandbox: false,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function browse(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, reducedMotion: "reduce", ...options });
  const noted = { requests: [], problems: [], violations: [] };
  await context.exposeBinding("noteViolation", (_, text) => noted.violations.push(text));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => window.noteViolation(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
    window.pwned = 0;
  });
  context.on("request", (request) => noted.requests.push(request));
  context.on("weberror", (error) => noted.problems.push(String(error.error())));
  context.on("console", (message) => message.type() === "error" && noted.problems.push(message.text()));
  context.on("dialog", (dialog) => noted.problems.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
  // A page of its own for a gateway; `expected`: console errors that are part of the test.
  const open = async (gateway, hash = "") => {
    const page = await context.newPage();
    page.setDefaultTimeout(30000);
    await page.goto(await gateway.page());
    if (hash) await page.evaluate((to) => (location.hash = to), hash);
    return page;
  };
  const clean = (origins, expected = []) => {
    for (const request of noted.requests) {
      const url = new URL(request.url());
      assert.ok(origins.includes(url.origin), `a request to ${request.url()}`);
      assert.ok(!request.url().includes("token=") || request.isNavigationRequest(), request.url());
      assert.ok(!request.headers().referer, "a Referer");
    }
    assert.deepEqual(noted.violations, []);
    assert.deepEqual(noted.problems.filter((text) => !expected.some((part) => text.includes(part))), []);
  };
  return { context, open, noted, clean };
}

const card = (page, id) => page.locator(`#card-${id}`);
const button = (page, id, choice) => card(page, id).locator(`button[data-choice=${choice}]`);

let fails = 0;
async function main() {
  const began = Date.now();
  const scenes = (await import("./scenes.mjs")).default({ Gateway, bouncer, scratch, into, browse, card, button, assert });
  for (const [name, scene] of Object.entries(scenes)) {
    if (flags.only && !name.includes(flags.only)) continue;
    const start = Date.now();
    try {
      await scene();
      console.log(`ok    ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      fails++;
      console.log(`FAIL  ${name}\n${error.stack}`);
    }
  }
  console.log(`${fails === 0 ? "all hold" : `${fails} failed`} (${((Date.now() - began) / 1000).toFixed(1)} s); screenshots in ${path.relative(process.cwd(), into)}`);
}

try {
  await main();
} finally {
  await stopAll();
  await browser.close();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(fails === 0 ? 0 : 1);
