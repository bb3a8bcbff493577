// What the runners of both versions of the TypeScript SDK share: checks, processes, and the
// directory of one run. Knows nothing of any SDK.

import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

export const here = path.dirname(fileURLToPath(import.meta.url));
export const [bouncerPath, work] = process.argv.slice(2, 4).map((name) => path.resolve(name));

export const YES = { action: "accept", content: { approve: true } };
export const WIDE = { action: "accept", content: { approve: true, conversation: true } };
export const NO = { action: "decline" };

export const jsonl = (file) =>
  fs.existsSync(file)
    ? fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line))
    : [];
export const words = (result) => (result.content ?? []).map((block) => block.text ?? "").join("\n");
export const passed = (result) => !result.isError;

export function isDenied(result, contract) {
  const told = result._meta?.["bouncer/verdict"] ?? {};
  const blocked = result.isError === true && words(result).startsWith("[bouncer blocked]");
  return blocked && told.verdict === (told.approval ? "ask" : "deny") && (contract === undefined || told.contract === contract);
}

/** Waits for a condition; whether it came true. */
export async function until(condition, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > end) return false;
    await sleep(20);
  }
  return true;
}

/** Gives a promise's value, or fails after some time. */
export function within(seconds, promise, what) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${seconds} seconds`)), seconds * 1000);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

/** Command lines that contain `marker`. */
export async function processes(marker) {
  let found = [];
  if (fs.existsSync("/proc/self/cmdline")) {
    for (const id of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        found.push(`${id} ${fs.readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ")}`);
      } catch {
        // It has just ended.
      }
    }
  } else {
    found = (await execute("ps", ["-A", "-o", "pid=,args="])).stdout.split("\n");
  }
  return found.filter((line) => line.includes(marker));
}

export function execute(program, args, cwd) {
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
    child.stdin.end();
  });
}

/** One run of one scenario: its directory, its checks, how to start things. */
export class Run {
  failed = 0;
  count = 0;

  constructor(scenario, sdk) {
    this.scenario = scenario;
    this.sdk = sdk;
    fs.mkdirSync(path.join(work, "scratch"), { recursive: true });
    this.dir = fs.realpathSync(fs.mkdtempSync(path.join(work, "scratch", `${sdk}-${scenario}-`)));
    this.audit = path.join(this.dir, "audit.jsonl");
    this.calls = path.join(this.dir, "calls.jsonl");
  }

  check(name, ok, detail) {
    this.count += 1;
    this.failed += ok ? 0 : 1;
    const line = { check: `${this.sdk}/${this.scenario}: ${name}`, ok: Boolean(ok) };
    if (!ok) line.detail = typeof detail === "string" ? detail : JSON.stringify(detail);
    console.log(JSON.stringify(line));
  }

  equal(name, found, wanted) {
    const detail = `found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`;
    this.check(name, isDeepStrictEqual(found, wanted), detail);
  }

  file(...parts) {
    return path.join(this.dir, ...parts);
  }

  /** A policy of `policies/` with this run's directory put in. */
  policy(name) {
    const text = fs.readFileSync(path.join(here, "policies", `${name}.yaml`), "utf8");
    fs.writeFileSync(this.file(`${name}.yaml`), text.replaceAll("@DIR@", this.dir));
    return this.file(`${name}.yaml`);
  }

  /** The command line of the proxy in front of `server`. */
  proxied(policy, server, ...more) {
    const source = ["--no-packs", "--no-heuristics", "--policy", this.policy(policy)];
    return [bouncerPath, "run", ...source, "--audit", this.audit, "--approvals", this.audit + ".approvals.db", ...more, "--", ...server];
  }

  npm(name, ...args) {
    return ["node", path.join(work, "node_modules/@modelcontextprotocol", name, "dist/index.js"), ...args];
  }

  own(server, ...args) {
    return [process.env.PYTHON ?? "python3", path.join(here, server), ...args];
  }

  bouncer(...args) {
    return execute(bouncerPath, args, this.dir);
  }

  /** The audit log's lines. */
  log() {
    return jsonl(this.audit);
  }

  /** The messages that reached a server of the tests' own. */
  arrived(method = "tools/call") {
    return jsonl(this.calls).filter((message) => message.method === method);
  }

  /** The parameters of the calls among them. */
  forwarded() {
    return this.arrived().map((message) => message.params);
  }

  /** The command line of the gateway in front of `servers`, named command lines or URLs. */
  gateway(servers, policy) {
    const of = (at) => (typeof at === "string" ? { url: at } : { command: at[0], args: at.slice(1) });
    const named = Object.fromEntries(Object.entries(servers).map(([name, at]) => [name, of(at)]));
    // JSON is YAML.
    fs.writeFileSync(this.file("gateway.yaml"), JSON.stringify({ version: 1, ...policy, servers: named }));
    const source = ["--no-packs", "--no-heuristics", "--policy", this.file("gateway.yaml")];
    return [bouncerPath, "gateway", ...source, "--audit", this.audit, "--approvals", this.file("approvals.db")];
  }

  /** Runs `command` for as long as it is used, once it listens at `port`. */
  async listening([program, ...args], port, use) {
    const errors = fs.openSync(this.file(`${port}.log`), "w");
    const env = { ...process.env, CALLS: this.calls };
    const child = spawn(program, args, { cwd: this.dir, env, stdio: ["ignore", errors, errors] });
    const ended = new Promise((resolve) => child.once("close", (code, signal) => resolve(signal ?? code)));
    const knock = () =>
      new Promise((resolve) => {
        const socket = net.connect(port, "127.0.0.1");
        socket.once("connect", () => resolve(true) || socket.destroy());
        socket.once("error", () => resolve(false));
      });
    try {
      const up = await until(async () => child.exitCode !== null || (await knock()), 60);
      if (!up || child.exitCode !== null) throw new Error(fs.readFileSync(this.file(`${port}.log`), "utf8"));
      return await use(child, ended);
    } finally {
      if (child.exitCode === null) child.kill("SIGTERM");
      await within(20, ended, "the end");
    }
  }
}

/** Takes out of a result what differs between any two runs: times and random ids. */
export function steady(value) {
  if (Array.isArray(value)) return value.map(steady);
  if (value && typeof value === "object") {
    const kept = Object.entries(value).filter(([key]) => key !== "progressToken");
    return Object.fromEntries(
      kept.map(([key, item]) => {
        // Blobs are bytes, but those of the server are mostly text with a time in it.
        const text = key === "blob" ? Buffer.from(item, "base64").toString("latin1") : item;
        return [key, steady(text)];
      }),
    );
  }
  if (typeof value !== "string") return value;
  return value
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "DATE")
    .replace(/\d{1,2}:\d{2}:\d{2}(\s?[AP]M)?/g, "TIME")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID")
    .replace(/\b[0-9a-f]{32}\b/g, "HEX");
}

/** A result, or the error in its place. */
export async function outcome(promise) {
  try {
    return await promise;
  } catch (error) {
    return { error: { code: error.code, message: error.message, data: error.data } };
  }
}

/** A port that nobody listens at. */
export function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs the scenarios that the command line names, or all, and ends the process. */
export async function main(scenarios, make) {
  const wanted = process.argv.slice(4);
  let failed = 0;
  for (const name of wanted.length > 0 ? wanted : Object.keys(scenarios)) {
    const run = make(name);
    try {
      await within(240, scenarios[name](run), name);
      run.check("made its checks", run.count > 0);
    } catch (error) {
      run.check("came to its end", false, String(error?.stack ?? error));
    }
    failed += run.failed;
    if (run.failed === 0) fs.rmSync(run.dir, { recursive: true, force: true });
  }
  process.exit(failed > 0 ? 1 : 0);
}
