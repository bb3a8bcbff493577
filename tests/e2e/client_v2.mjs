// Runs the proxy and the gateway between version 2 of the official TypeScript SDK and servers.
//
//     client_v2.mjs BOUNCER WORK_DIR [SCENARIO...]
//
// As `client.mjs`, which is the same for the SDK's version 1. Version 2 speaks 2026-07-28 and
// what came before: each scenario is walked through in both, as the client is told to
// (`legacy`, `pin`) and as it finds out by itself (`auto`).

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import {
  NO,
  Run as SharedRun,
  YES,
  bouncerPath,
  freePort,
  here,
  isDenied,
  main,
  outcome,
  passed,
  processes,
  until,
  within,
  words,
  work,
} from "./shared.mjs";

const load = createRequire(path.join(work, "package.json"));
const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

const NEWER = "2026-07-28";
const OLDER = "2025-11-25";
const MODES = { [OLDER]: "legacy", [NEWER]: { pin: NEWER } };
const ANN = { action: "accept", content: { name: "Ann" } };

/** A connected client, what it was asked, and what it was told. `server` stands before names. */
class Peer {
  questions = [];
  logs = [];
  changes = [];

  constructor(mode, answers, server) {
    this.prefix = server ? `${server}__` : "";
    const capabilities = answers ? { elicitation: { form: {} } } : {};
    this.client = new Client({ name: "e2e", version: "2.0.0" }, { capabilities, versionNegotiation: { mode } });
    const rest = answers?.[Symbol.iterator]();
    if (answers) {
      this.client.setRequestHandler("elicitation/create", async (request) => {
        this.questions.push(request.params.message);
        return rest.next().value ?? { action: "cancel" };
      });
    }
    this.client.setNotificationHandler("notifications/message", (notice) => {
      this.logs.push(notice.params.data);
    });
    this.client.setNotificationHandler("notifications/tools/list_changed", () => {
      this.changes.push("tools");
    });
  }

  call(name, args, options) {
    return this.client.callTool({ name: this.prefix + name, arguments: args ?? {} }, options);
  }

  /**
   * The first call of a connection, without a list before it. On a machine that is busy, a server may take longer to start
   * than the proxy waits for its tools: then they are not known yet, and the next call tries again.
   */
  async first(name, args) {
    let result;
    await until(async () => !isDenied((result = await this.call(name, args)), "pinning"), 60);
    return result;
  }

  async names() {
    return (await this.client.listTools(undefined, { cacheMode: "refresh" })).tools.map((tool) => tool.name);
  }

  /** Waits until a server behind the gateway has its tools. */
  until(tool) {
    return until(async () => (await this.names()).includes(tool), 60);
  }
}

class Run extends SharedRun {
  server(...args) {
    return ["node", path.join(here, "sdk_server.mjs"), work, ...args];
  }

  /** A client of `at`, a command line or a URL. With `answers` it can be asked and gives these. */
  async connect(at, mode, use, { answers, token, server } = {}) {
    const peer = new Peer(mode, answers, server);
    const env = { ...process.env, CALLS: this.calls };
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const transport =
      typeof at === "string"
        ? new StreamableHTTPClientTransport(new URL(at), { requestInit: { headers } })
        : new StdioClientTransport({ command: at[0], args: at.slice(1), env, cwd: this.dir, stderr: "inherit" });
    await within(60, peer.client.connect(transport), "connecting");
    try {
      return await use(peer);
    } finally {
      await peer.client.close();
    }
  }
}

/** Everything the server of that name has, as a client in that mode meets it. */
async function walk(run, at, mode, { name = "here", ...more } = {}) {
  const seen = {};
  const use = async (peer) => {
    const { client, prefix } = peer;
    if (more.server) await peer.until(`${prefix}echo`);
    const own = (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
    seen.version = client.getNegotiatedProtocolVersion();
    const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
    const mine = tools.filter((tool) => tool.name.startsWith(prefix));
    seen.tools = mine.map((tool) => ({ ...tool, name: own(tool.name) }));
    const plain = async (promise) => {
      const result = await outcome(promise);
      const { content, structuredContent, isError, contents, messages, completion, error } = result;
      const code = error && { code: error.code };
      return { content, structuredContent, isError: Boolean(isError), contents, messages, completion, error: code };
    };
    const call = (name, args, options) => plain(peer.call(name, args, options));
    seen.echo = await call("echo", { message: "h\u00e9llo \u{1f600}" });
    seen["structured content"] = await call("point", { x: 1.5, y: -2 });
    seen["a header of an argument"] = await call("region", { region: "us-west1" });
    seen["an error of the tool"] = await call("fail");
    seen["arguments that do not fit"] = await call("echo", { message: 5 });
    const progress = [];
    const onprogress = (told) => progress.push([told.progress, told.total]);
    seen.walked = await call("steps", { count: 3 }, { onprogress });
    await until(() => progress.length >= 3, 5);
    seen.progress = progress;
    seen.question = await call("greet", { greeting: "hello" });
    seen["a question declined"] = await call("greet", { greeting: "hello" });
    seen.questions = [...peer.questions];
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const of = (uri) => uri.includes(name);
    seen.resources = resources.filter((one) => of(one.uri)).map(({ uri, mimeType }) => ({ uri, mimeType }));
    seen.templates = resourceTemplates.map((one) => one.uriTemplate).filter(of);
    seen["a resource"] = await plain(client.readResource({ uri: `note://${name}` }));
    seen["of a template"] = await plain(client.readResource({ uri: `${name}://7` }));
    seen["a resource that is not there"] = await plain(client.readResource({ uri: `nothing://${name}` }));
    const { prompts } = await client.listPrompts();
    const listed = prompts.filter((prompt) => prompt.name.startsWith(prefix));
    seen.prompts = listed.map((prompt) => ({ ...prompt, name: own(prompt.name) }));
    seen.prompt = await plain(client.getPrompt({ name: `${prefix}poem`, arguments: { about: "gates" } }));
    const ref = { type: "ref/resource", uri: `${name}://{number}` };
    seen.completion = await plain(client.complete({ ref, argument: { name: "number", value: "1" } }));
    const abort = new AbortController();
    setTimeout(() => abort.abort("enough"), 200);
    const started = Date.now();
    seen["a call taken back"] = (await outcome(peer.call("hang", {}, { signal: abort.signal }))).error !== undefined;
    seen["echo after that"] = await call("echo", { message: "still here" });
    seen["it took no time"] = Date.now() - started < 10_000;
  };
  await run.connect(at, mode, use, { answers: [ANN, NO], ...more });
  return seen;
}

/** Compares two walks, and what a comparison alone would not notice. */
function same(run, what, direct, gated) {
  for (const name of Object.keys(direct)) run.equal(`${what}: ${name}: as without it`, gated[name], direct[name]);
  const gist = [
    direct.echo?.content?.[0]?.text,
    direct["structured content"]?.structuredContent,
    direct.question?.content?.[0]?.text,
    direct.questions,
    direct.progress,
    direct["a resource"]?.contents?.[0]?.text,
    direct.prompt?.messages?.length,
    direct.completion?.completion?.values,
  ];
  const wanted = [
    "h\u00e9llo \u{1f600}",
    { x: 1.5, y: -2 },
    "hello, Ann!",
    ["Whom to greet?", "Whom to greet?"],
    [[1, 3], [2, 3], [3, 3]],
    "a note",
    1,
    ["1", "10"],
  ];
  run.equal(`${what}: the server itself works`, gist, wanted);
}

const gate = { exfiltrating: true, sink_params: ["to", "cc"], trusted_destinations: ["*@corp.example"] };

/** `bouncer run`: the client and the server speak the same version, whichever. */
async function proxy(run) {
  const server = run.server();
  const open = run.proxied("open", server, "--server", "sdk2");
  for (const [version, mode] of Object.entries(MODES)) {
    const [direct, gated] = await Promise.all([walk(run, server, mode), walk(run, open, mode)]);
    run.equal(`${version} is spoken`, gated.version, version);
    same(run, version, direct, gated);
  }
  const gatedMail = run.proxied("mail", server, "--server", "mail");
  for (const [version, mode] of Object.entries({ ...MODES, auto: "auto" })) {
    const judged = async (peer) => {
      run.equal(`${version}: what is spoken`, peer.client.getNegotiatedProtocolVersion(), version === OLDER ? OLDER : NEWER);
      let result = await peer.first("read_inbox");
      run.check(`${version}: a call passes`, passed(result) && words(result).includes("evil.example"), result);
      result = await peer.call("send_email", { to: ["alice@corp.example"] });
      run.check(`${version}: a trusted destination is allowed`, passed(result), result);
      result = await peer.call("send_email", { to: ["audit@evil.example"] });
      run.check(`${version}: a tainted one is denied`, isDenied(result, "sink_gate"), result);
      result = await peer.call("send_email", { to: ["carol@elsewhere.example"] });
      // Over standard streams the newer version lets nobody ask.
      const held = version === OLDER ? passed(result) : isDenied(result, "sink_gate");
      run.check(`${version}: an unproven one is asked for, or denied`, held, result);
      run.equal(`${version}: questions`, peer.questions.length, version === OLDER ? 1 : 0);
    };
    await run.connect(gatedMail, mode, judged, { answers: [YES] });
  }
  // A server of one version, and a client of the other.
  const strict = run.proxied("open", run.server("--only-newer"));
  const across = async (peer) => {
    run.equal("an older client of a newer server speaks its own version", peer.client.getNegotiatedProtocolVersion(), OLDER);
    run.equal("and is asked by requests", words(await peer.first("greet", { greeting: "hello" })), "hello, Ann!");
    run.equal("once", peer.questions.length, 1);
  };
  await run.connect(strict, "legacy", across, { answers: [ANN] });
  await run.connect(run.proxied("mail", run.own("mail_server.py")), "auto", async (peer) => {
    run.equal("a newer client of an older server falls back", peer.client.getNegotiatedProtocolVersion(), OLDER);
    run.check("and its tools work", passed(await peer.first("send_email", { to: ["alice@corp.example"] })));
  });
  const gone = await until(async () => (await processes(run.dir)).length === 0, 10);
  run.check("nothing is left", gone, await processes(run.dir));
}

/** A gateway in front of the SDK's server on either transport, and of an older one. */
async function behind(run, use) {
  const [far, near] = [await freePort(), await freePort()];
  const [farUrl, url] = [far, near].map((port) => `http://127.0.0.1:${port}/mcp`);
  const servers = { near: run.server("near"), far: farUrl, mail: run.own("mail_server.py") };
  const rules = [
    { tool: "mail__list_contacts", action: "ask" },
    { tool: "*", action: "allow" },
  ];
  const command = run.gateway(servers, { tools: { mail__send_email: gate }, rules });
  const people = { alice: "alice's token", bob: "bob's token" };
  const hash = (token) => createHash("sha256").update(token).digest("hex");
  fs.writeFileSync(run.file("tokens"), Object.entries(people).map(([name, token]) => `${name} ${hash(token)}\n`).join(""));
  await run.listening(run.server("--only-newer", String(far), "far"), far, async () => {
    await use({ command, people, url, near });
  });
  const gone = await until(async () => (await processes(run.dir)).length === 0, 10);
  run.check("nothing is left", gone, await processes(run.dir));
}

/** The gateway over HTTP, in both protocols. */
async function gateway_http(run) {
  await behind(run, async ({ command, people, url, near }) => {
    const listening = [...command, "--listen", `127.0.0.1:${near}`, "--tokens", run.file("tokens")];
    const direct = {};
    for (const [version, mode] of Object.entries(MODES)) {
      for (const name of ["near", "far"]) direct[`${name} ${version}`] = await walk(run, run.server(name), mode, { name });
    }
    await run.listening(listening, near, async (child, ended) => {
      for (const [version, mode] of Object.entries(MODES)) {
        for (const server of ["near", "far"]) {
          // The server over HTTP speaks the newer version only, whatever the client does.
          const gated = await walk(run, url, mode, { name: server, server, token: people.alice });
          run.equal(`${server}, HTTP: ${version} is spoken`, gated.version, version);
          same(run, `${server}, HTTP, ${version}`, direct[`${server} ${version}`], gated);
        }
      }
      await run.connect(url, "auto", (peer) => judged(run, peer, "HTTP, auto", NEWER), { answers: [NO, YES], token: people.bob });
      await run.connect(url, "legacy", (peer) => judged(run, peer, "HTTP, legacy", OLDER), { answers: [NO, YES], token: people.bob });
      await run.connect(url, MODES[NEWER], (peer) => heard(run, peer), { token: people.bob });
      for (const mode of ["legacy", "auto", MODES[NEWER]]) {
        const stranger = await outcome(run.connect(url, mode, () => "in", { token: "another" }));
        run.check(`a stranger is turned away: ${JSON.stringify(mode)}`, stranger.error, stranger);
      }
      child.kill("SIGTERM");
      run.equal("it ends when told to", await within(20, ended, "the end"), 143);
    });
    const whose = new Set(run.log().map((line) => line.conversation.split("/")[0]));
    run.equal("the log names the principals", [...whose].sort(), ["alice", "bob"]);
  });
}

/** Over standard streams older versions are spoken, and whoever tries the newer one first finds out. */
async function gateway(run) {
  await behind(run, async ({ command }) => {
    const direct = { [`near ${OLDER}`]: await walk(run, run.server("near"), "legacy", { name: "near" }) };
    for (const mode of ["legacy", "auto"]) {
      const gated = await walk(run, command, mode, { name: "near", server: "near" });
      same(run, `near, streams, ${mode}`, direct[`near ${OLDER}`], gated);
    }
    await run.connect(command, "auto", (peer) => judged(run, peer, "streams", OLDER), { answers: [NO, YES] });
    const pinned = await outcome(run.connect(command, MODES[NEWER], () => "in"));
    run.check("who insists on the newer version is told, and does not hang", pinned.error?.message, pinned);
  });
}

/** What crosses servers, what a human decides, and where nobody can be asked. */
async function judged(run, peer, what, version) {
  await peer.until("mail__read_inbox");
  run.equal(`${what}: the version`, peer.client.getNegotiatedProtocolVersion(), version);
  let result = await peer.call("mail__send_email", { to: ["alice@corp.example"] });
  run.check(`${what}: a trusted destination is allowed`, passed(result), result);
  await peer.until("near__read_inbox");
  result = await peer.call("near__read_inbox");
  run.check(`${what}: a message is read`, passed(result) && words(result).includes("evil.example"), result);
  result = await peer.call("mail__send_email", { to: ["audit@evil.example"] });
  run.check(`${what}: what one server said is not sent by another`, isDenied(result, "sink_gate"), result);
  run.check(`${what}: and the answer says where it was from`, words(result).includes('of server "near"'), result);
  result = await peer.call("mail__list_contacts");
  run.check(`${what}: declined by the human`, isDenied(result), result);
  result = await peer.call("mail__list_contacts");
  run.check(`${what}: approved by the human`, passed(result), result);
  run.equal(`${what}: both were asked`, peer.questions.length, 2);
  result = await peer.call("mail__nothing");
  run.check(`${what}: a tool that nobody has is denied`, isDenied(result, "pinning"), result);
}

/** The newer version: streams of changes, log messages with one request, approvals elsewhere. */
async function heard(run, peer) {
  await peer.until("near__steps");
  const subscription = await peer.client.listen({ toolsListChanged: true });
  run.check("changes can be listened to", subscription);
  await subscription.close();
  const _meta = { "io.modelcontextprotocol/logLevel": "info" };
  await peer.client.callTool({ name: "near__steps", arguments: { count: 2 }, _meta });
  run.check("log messages come with the request that wants them", await until(() => peer.logs.length >= 2, 5), peer.logs);
  let result = await peer.call("mail__list_contacts");
  const id = result._meta?.["bouncer/verdict"]?.approval;
  run.check("who cannot be asked gets an id", isDenied(result) && id, result);
  spawnSync(bouncerPath, ["approve", String(id), "--approvals", run.file("approvals.db")]);
  result = await peer.call("mail__list_contacts");
  run.check("the same call goes through once approved", passed(result), result);
  result = await peer.call("mail__list_contacts");
  run.check("and only once", isDenied(result), result);
}

await main({ proxy, gateway, gateway_http }, (name) => new Run(name, "typescript-2"));
