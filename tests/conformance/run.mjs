// Runs each server scenario of the official conformance suite against a server, directly and through `bouncer gateway`,
// and compares check by check; and against `bouncer serve`, which speaks on standard input and output and so stands behind
// the gateway alone. See docs/tests.md.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startShim } from "./shim.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, "..", "..");
const { values: flags } = parseArgs({
  options: {
    bouncer: { type: "string", default: path.join(root, "target", "release", "bouncer") },
    into: { type: "string", default: path.join(root, "target", "conformance") },
    reference: { type: "string" },
    only: { type: "string", multiple: true },
    port: { type: "string", default: "39200" },
  },
});
const into = path.resolve(flags.into);
const bouncer = path.resolve(flags.bouncer);
const modules = path.join(into, "node_modules");
const node = path.join(modules, "node", "bin", "node");
const base = Number(flags.port);
const TASKS_ERA = "2026-07-28 tasks";
const eras = ["2025-11-25", "2026-07-28", TASKS_ERA];
const tasks = [
  ...["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input"],
  ...["request-headers", "dispatch-and-envelope", "status-notifications", "required-task-error", "mrtr-composition"],
].map((name) => `tasks-${name}`);
const PREFIX = "conformancefixture__";

const children = [];
function start(name, command, args, env = {}) {
  const child = spawn(command, args, { cwd: into, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (log += part));
  child.on("exit", () => writeFileSync(path.join(into, `${name}.log`), log));
  children.push(child);
  return child;
}

async function listening(port) {
  for (let tries = 0; tries < 600; tries++) {
    const open = await new Promise((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => resolve(true) || socket.destroy());
      socket.on("error", () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nothing listens on port ${port}; see the logs in ${into}`);
}

// Every check of every scenario: SUCCESS only if all checks of that id are.
async function suite(port, era, out) {
  rmSync(out, { recursive: true, force: true });
  const program = path.join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js");
  // Scenarios of an extension belong to no suite: each is named, and made to run.
  const named = era === TASKS_ERA ? tasks.map((name) => ["--scenario", name, "--force"]) : [["--suite", "all"]];
  for (const what of named) {
    const args = [program, "server", "--url", `http://localhost:${port}/mcp`, ...what, "--spec-version", era.slice(0, 10), "-o", out];
    const child = start(path.basename(out), node, args);
    await new Promise((resolve) => child.on("exit", resolve));
  }
  const found = new Map();
  for (const folder of readdirSync(out)) {
    const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const checks = new Map();
    for (const check of JSON.parse(readFileSync(path.join(out, folder, "checks.json"), "utf8"))) {
      const before = checks.get(check.id);
      if (!before || before.status !== "FAILURE") checks.set(check.id, { status: check.status, message: check.errorMessage ?? "" });
    }
    found.set(scenario, checks);
  }
  return found;
}

const failed = (check) => check.status === "FAILURE";
const passes = (checks) => checks !== undefined && checks.size > 0 && ![...checks.values()].some(failed);

function compare(server, era, direct, gated) {
  const rows = [];
  for (const scenario of new Set([...direct.keys(), ...gated.keys()])) {
    const [one, two] = [direct.get(scenario), gated.get(scenario)];
    const worse = [];
    if (!one || !two) worse.push({ check: "*", message: `no result ${one ? "through the gateway" : "direct"}` });
    else
      for (const [id, check] of one) {
        if (check.status !== "SUCCESS") continue;
        const other = two.get(id);
        if (other?.status !== "SUCCESS") worse.push({ check: id, message: other ? `${other.status}: ${other.message}` : "not checked" });
      }
    // What is checked through the gateway only, and fails, is worse if the scenario passes direct.
    if (passes(one) && two)
      for (const [id, check] of two) if (failed(check) && !one.has(id)) worse.push({ check: id, message: check.message });
    rows.push({ server, era, scenario, direct: passes(one), gateway: passes(two), worse });
  }
  return rows;
}

// What nobody can compare with: every check that fails has to be listed.
function alone(server, era, gated) {
  return [...gated].map(([scenario, checks]) => {
    const worse = [...checks].filter(([, check]) => failed(check)).map(([check, { message }]) => ({ check, message }));
    return { server, era, scenario, direct: null, gateway: passes(checks), worse };
  });
}

async function main() {
  mkdirSync(into, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(path.join(here, file), path.join(into, file));
  const quiet = ["--no-audit", "--no-fund", "--silent"];
  const installed = spawnSync("npm", ["ci", ...quiet], { cwd: into, stdio: "inherit" });
  if (installed.status !== 0) throw new Error("npm ci failed");

  const everything = path.join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js");
  let servers = [
    { name: "fixture", args: [path.join(here, "fixture.mjs")], tasks: true },
    { name: "server-everything", args: [everything, "streamableHttp"] },
  ];
  if (flags.reference) {
    const file = path.join(into, "reference.ts");
    copyFileSync(flags.reference, file);
    servers.push({ name: "reference", args: ["--import", path.join(modules, "tsx", "dist", "loader.mjs"), file] });
  }

  servers.push({ name: "serve" });
  if (flags.only) servers = servers.filter((server) => flags.only.includes(server.name));
  const rows = [];
  let port = base;
  // No other of these servers has tasks.
  const erasOf = (server) => eras.filter((era) => era !== TASKS_ERA || server.tasks);
  for (const one of servers) {
    const { name, args } = one;
    const [upstream, gateway, shim] = [port++, port++, port++];
    let server = { command: bouncer, args: ["serve", "--audit", path.join(into, "serve-own.jsonl")] };
    if (args) {
      start(name, node, args, { PORT: String(upstream) });
      await listening(upstream);
      server = { url: `http://localhost:${upstream}/mcp` };
    }
    const policy = path.join(into, `${name}.yaml`);
    writeFileSync(policy, `version: 1\nservers: ${JSON.stringify({ [PREFIX.slice(0, -2)]: server })}\n`);
    start(`${name}-gateway`, bouncer, [
      "gateway", "--policy", policy, "--no-packs", "--no-heuristics", "--listen", `127.0.0.1:${gateway}`, "--max-conversations", "1000",
      "--audit", path.join(into, `${name}-audit.jsonl`), "--approvals", path.join(into, `${name}-approvals.db`),
    ]);
    await listening(gateway);
    const between = await startShim(shim, gateway, PREFIX);
    for (const era of erasOf(one)) {
      const direct = args && (await suite(upstream, era, path.join(into, `${name}-${era.replace(" ", "-")}-direct`)));
      const gated = await suite(shim, era, path.join(into, `${name}-${era.replace(" ", "-")}-gateway`));
      rows.push(...(direct ? compare(name, era, direct, gated) : alone(name, era, gated)));
    }
    between.closeAllConnections();
    between.close();
  }

  const expected = JSON.parse(readFileSync(path.join(here, "expected-failures.json"), "utf8"));
  const key = (entry) => [entry.server, entry.era, entry.scenario, entry.check].join(" ");
  const listed = new Map(expected.map((entry) => [key(entry), entry]));
  const seen = new Set();
  const unlisted = [];
  for (const row of rows)
    for (const one of row.worse) {
      one.expected = listed.has(key({ ...row, ...one }));
      if (one.expected) seen.add(key({ ...row, ...one }));
      else unlisted.push({ ...row, ...one });
    }
  const ran = new Set(servers.map((server) => server.name));
  const stale = expected.filter((entry) => ran.has(entry.server) && !seen.has(key(entry)));

  const mark = (yes) => (yes ? "pass" : "FAIL");
  for (const row of rows) {
    console.log([row.server.padEnd(18), row.era, row.scenario.padEnd(46), row.direct === null ? "" : `direct ${mark(row.direct)}`, `gateway ${mark(row.gateway)}`].join("  "));
    for (const one of row.worse) console.log(`    ${one.expected ? "expected" : "UNLISTED"}  ${one.check}: ${one.message}`);
  }
  const figures = [];
  for (const one of servers)
    for (const era of erasOf(one)) {
      const server = one.name;
      const of = rows.filter((row) => row.server === server && row.era === era);
      const line = { server, era, scenarios: of.length, direct: of.filter((r) => r.direct).length, gateway: of.filter((r) => r.gateway).length, worse: of.flatMap((r) => r.worse).length };
      figures.push(line);
      console.log(`${server} ${era}: ${line.scenarios} scenarios, ${line.direct} pass direct, ${line.gateway} through the gateway; ${line.worse} checks worse`);
    }
  for (const entry of stale) console.log(`STALE  ${key(entry)}`);
  console.log(`${unlisted.length} unlisted, ${stale.length} stale`);
  writeFileSync(path.join(into, "results.json"), JSON.stringify({ figures, rows, unlisted, stale }, null, 2) + "\n");
  return rows.length > 0 && unlisted.length === 0 && stale.length === 0 ? 0 : 1;
}

let code = 1;
try {
  code = await main();
} catch (error) {
  console.error(error.message);
}
for (const child of children) child.kill();
setTimeout(() => process.exit(code), 500);
