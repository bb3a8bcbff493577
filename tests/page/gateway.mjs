// A real gateway with its page, and an agent in front of it whose client cannot ask anybody.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { EVIL_TOOL } from "./server.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const all = [];

export const EVIL_REASON = "<b onclick=alert(1)>bold</b> \u202eesrever\u202c ask \u0430dmin";

export function policy({ seconds = 0, more = "" } = {}) {
  const quoted = JSON.stringify;
  return `version: 1
packs: []
heuristics: false
audit: { path: audit.jsonl }
approval: { path: approvals.db${seconds ? `, timeoutSeconds: ${seconds}` : ""} }
tools:
  srv__send_email: { exfiltrating: true, sink_params: [to], on_tainted: ask }
rules:
  - { tool: srv__wipe, action: ask, reason: deleting is for good }
  - { tool: ${quoted(`srv__${EVIL_TOOL}`)}, action: ask, reason: ${quoted(EVIL_REASON)} }
  - { tool: "srv__*", action: allow }
${more}servers:
  srv:
    command: ${quoted(process.execPath)}
    args: [${quoted(path.join(here, "server.mjs"))}]
    env: { CALLS: ${quoted("${CALLS}")}, CHANGED: ${quoted("${CHANGED}")} }
`;
}

export class Gateway {
  constructor(bouncer, directory, text, { listen = false, observe = false } = {}) {
    this.bouncer = bouncer;
    this.directory = directory;
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    this.write(text);
    this.link = path.join(directory, "page.link");
    this.calls = path.join(directory, "calls");
    this.changed = path.join(directory, "changed");
    const flags = ["gateway", "--policy", "policy.yaml", "--ui", "127.0.0.1:0", "--ui-link", this.link];
    if (listen) flags.push("--listen", "127.0.0.1:0");
    if (observe) flags.push("--observe");
    const env = { ...process.env, HOME: directory, CALLS: this.calls, CHANGED: this.changed };
    this.child = spawn(bouncer, flags, { cwd: directory, env, stdio: ["pipe", "pipe", "pipe"] });
    this.errors = "";
    this.ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.stderr.on("data", (part) => (this.errors += part));
    this.waiting = new Map();
    this.strays = [];
    this.id = 0;
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      try {
        const message = JSON.parse(line);
        this.waiting.get(message.id)?.(message);
      } catch {
        this.strays.push(line);
      }
    });
    all.push(this);
  }

  write(text) {
    writeFileSync(path.join(this.directory, "policy.yaml"), text);
  }

  async page() {
    await until(() => existsSync(this.link) && readFileSync(this.link, "utf8").endsWith("\n"), () => `no page: ${this.errors}`);
    return readFileSync(this.link, "utf8").trim();
  }

  async start() {
    const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "agent", version: "1" } };
    await this.ask("initialize", initialize);
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    const { result } = await this.ask("tools/list", {});
    if (result.tools.length !== 4) throw new Error(`tools: ${JSON.stringify(result)}`);
    return this;
  }

  ask(method, params) {
    const id = ++this.id;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}: ${this.errors}`)), 15000);
      this.waiting.set(id, (message) => {
        clearTimeout(timer);
        this.waiting.delete(id);
        resolve(message);
      });
      // A number that no script can hold.
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params }).replaceAll('"@big"', "12345678901234567890123");
      this.child.stdin.write(`${line}\n`);
    });
  }

  // What became of a call: `ok`, or the id under which it waits, or why it is refused.
  async call(tool, args) {
    const { result } = await this.ask("tools/call", { name: `srv__${tool}`, arguments: args });
    const said = result.content[0].text;
    return { ok: !result.isError, id: /request (req_\w+)/.exec(said)?.[1], said };
  }

  forwarded(tool) {
    if (!existsSync(this.calls)) return 0;
    const lines = readFileSync(this.calls, "utf8").trim().split("\n").filter(Boolean);
    return lines.filter((line) => JSON.parse(line).name === tool).length;
  }

  audit() {
    return readFileSync(path.join(this.directory, "audit.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  }

  human(...words) {
    const { status, stdout, stderr } = spawnSync(this.bouncer, [...words, "--approvals", "approvals.db"], { cwd: this.directory, encoding: "utf8" });
    return { status, stdout, stderr };
  }

  async stop() {
    this.child.stdin.end();
    this.child.kill("SIGTERM");
    await this.ended;
  }
}

export async function stopAll() {
  for (const gateway of all) await gateway.stop();
}

export async function until(holds, why, limit = 10000) {
  const end = Date.now() + limit;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(typeof why === "function" ? why() : why);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
