// A server that has what the conformance suite asks servers for, in 2025-11-25 (with sessions) and in 2026-07-28 (without),
// by hand and without packages, so that what is compared depends on nobody's SDK. Listens on PORT.
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import http from "node:http";

const NEWER = "2026-07-28";
const OLDER = ["2025-11-25", "2025-06-18", "2025-03-26"];
const META = "io.modelcontextprotocol/";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const info = { name: "conformance-fixture", version: "1.0.0" };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (words) => ({ content: [{ type: "text", text: words }] });
const object = (properties = {}, required = []) => ({ type: "object", properties, ...(required.length > 0 ? { required } : {}) });
const string = (description) => ({ type: "string", ...(description ? { description } : {}) });

class Failure extends Error {
  constructor(code, message, data, status) {
    super(message);
    Object.assign(this, { code, data, status });
  }
}

// The server's own state: whoever changes it is found out.
const secret = randomBytes(32);
const seal = (state) => {
  const body = Buffer.from(JSON.stringify({ ...state, nonce: randomUUID() })).toString("base64url");
  return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
};
const unseal = (sealed) => {
  const [body, mac] = String(sealed).split(".");
  if (mac !== createHmac("sha256", secret).update(body).digest("base64url")) throw new Failure(-32602, "the requestState was changed");
  return JSON.parse(Buffer.from(body, "base64url").toString());
};

const form = (message, properties, required = Object.keys(properties)) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: object(properties, required) },
});
const sample = (prompt, maxTokens = 100) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens },
});
const needs = (inputRequests, state) => ({ resultType: "input_required", inputRequests, ...(state ? { requestState: seal(state) } : {}) });
const given = (response) => (response && typeof response === "object" ? response : undefined);

const SCHEMA_2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: string(), city: string() } } },
  properties: {
    name: string(),
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: string(),
    email: string(),
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

// Tools of both versions.
const both = {
  test_simple_text: () => text("This is a simple text response for testing."),
  test_image_content: () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [{ type: "resource", resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." } }],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data","value":123}' } },
    ],
  }),
  test_error_handling: () => ({ ...text("This tool intentionally returns an error for testing"), isError: true }),
  json_schema_2020_12_tool: (call) => text(JSON.stringify(call.arguments)),
  async test_tool_with_logging(call) {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      call.log("info", data);
      await pause(50);
    }
    return text("Tool with logging executed");
  },
  async test_tool_with_progress(call) {
    for (const progress of [0, 50, 100]) {
      if (call.token !== undefined) call.notify("notifications/progress", { progressToken: call.token, progress, total: 100 });
      await pause(50);
    }
    return text("Tool with progress executed");
  },
};

// Tools that ask the client on the way.
const older = {
  async test_sampling(call) {
    const { content } = await call.ask(sample(call.arguments.prompt));
    return text(`LLM response: ${content?.text ?? "none"}`);
  },
  async test_elicitation(call) {
    const asked = form(call.arguments.message, { username: string("User's response"), email: string("User's email address") });
    return text(`User response: ${JSON.stringify(await call.ask(asked))}`);
  },
  test_elicitation_sep1034_defaults: (call) =>
    elicited(call, {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    }),
  test_elicitation_sep1330_enums: (call) =>
    elicited(call, {
      untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
      titledSingle: { type: "string", oneOf: titled("value", "Option") },
      legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
      untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
      titledMulti: { type: "array", items: { anyOf: titled("value", "Choice") } },
    }),
  async test_reconnection(call) {
    call.hangUp();
    await pause(300);
    return text("Reconnection test completed");
  },
};
const titled = (value, title) => ["First", "Second", "Third"].map((word, at) => ({ const: `${value}${at + 1}`, title: `${word} ${title}` }));
async function elicited(call, properties) {
  const { action, content } = await call.ask(form("Please review", properties, []));
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

// Tools that answer with what they need first.
const newer = {
  test_input_required_result_elicitation({ responses }) {
    const user = given(responses.user_name);
    if (user) return text(`Hello, ${user.content?.name}!`);
    return needs({ user_name: form("What is your name?", { name: string() }) });
  },
  test_input_required_result_sampling({ responses }) {
    const sampled = given(responses.sample_request);
    if (sampled) return text(`Sampling result: ${sampled.content?.text}`);
    return needs({ sample_request: sample("What is the capital of France?") });
  },
  test_input_required_result_list_roots({ responses }) {
    const listed = given(responses.roots_request);
    if (listed) return text(`Found ${listed.roots?.length ?? 0} root(s)`);
    return needs({ roots_request: { method: "roots/list", params: {} } });
  },
  test_input_required_result_request_state({ responses, state }) {
    if (state?.kind === "state" && given(responses.confirm)?.content?.ok === true) return text("state-ok");
    return needs({ confirm: form("Please confirm", { ok: { type: "boolean" } }) }, { kind: "state" });
  },
  test_input_required_result_multiple_inputs({ responses, state }) {
    const names = ["user_name", "greeting", "client_roots"];
    if (state?.kind === "multiple" && names.every((name) => given(responses[name]))) return text("all given");
    const asked = { user_name: form("What is your name?", { name: string() }), greeting: sample("Say hello") };
    return needs({ ...asked, client_roots: { method: "roots/list", params: {} } }, { kind: "multiple" });
  },
  test_input_required_result_multi_round({ responses, state }) {
    const [one, two] = [given(responses.step1), given(responses.step2)];
    if (state?.round === 2 && two) return text(`${state.name} likes ${two.content?.color}`);
    if (state?.round === 1 && one) return needs({ step2: form("Colour?", { color: string() }) }, { round: 2, name: one.content?.name });
    return needs({ step1: form("Name?", { name: string() }) }, { round: 1 });
  },
  test_input_required_result_tampered_state({ responses, state }) {
    if (state?.kind === "tamper" && given(responses.confirm)) return text("integrity-ok");
    return needs({ confirm: form("Please confirm", { ok: { type: "boolean" } }) }, { kind: "tamper" });
  },
  test_input_required_result_capabilities({ responses, capabilities }) {
    const names = Object.keys(responses);
    if (names.length > 0) return text(`capabilities-ok: ${names.join(",")}`);
    const asked = {};
    if (capabilities.elicitation) asked.elicit_input = form("A value?", { value: string() });
    if (capabilities.sampling) asked.sample_input = sample("Sample request", 50);
    return Object.keys(asked).length > 0 ? needs(asked, { kind: "capabilities" }) : text("nothing can be asked");
  },
  test_custom_header: (call) => text(`region: ${call.arguments.region}`),
  test_missing_capability({ capabilities }) {
    if (capabilities.sampling) return text("sampling is there");
    throw new Failure(-32021, "sampling is needed", { requiredCapabilities: { sampling: {} } }, 400);
  },
  test_streaming_elicitation: (call) => (call.notify("notifications/progress", { progressToken: call.token ?? "none", progress: 50, total: 100 }), text("streamed")),
  test_logging_tool: (call) => (call.log("info", "logging"), text("logged")),
  test_trigger_tool_change() {
    // Who compares lists is to find a difference.
    const name = "test_that_comes_and_goes";
    if (!delete_(newerTools, name)) newerTools[name] = () => text("here");
    changed("tools");
    return text("changed");
  },
  test_trigger_prompt_change: () => (changed("prompts"), text("changed")),
};

// Tasks, as the extension of 2026-07-28 has them: the server makes one for a client that can take it.
const TASKS = `${META}tasks`;
const tasks = new Map();
const knowsTasks = (call) => call.capabilities.extensions?.[TASKS] !== undefined;
const lacksTasks = () => new Failure(-32021, "tasks are needed", { requiredCapabilities: { extensions: { [TASKS]: {} } } }, 400);

class Task {
  constructor(work) {
    const now = new Date().toISOString();
    this.state = { taskId: randomUUID(), status: "working", createdAt: now, lastUpdatedAt: now, ttlMs: 300_000, pollIntervalMs: 100 };
    this.asked = new Map();
    tasks.set(this.state.taskId, this);
    work((name, request) => this.ask(name, request)).then(
      (result) => this.end("completed", { result }),
      (error) => this.end("failed", { statusMessage: error.message, error: { code: error.code ?? -32603, message: error.message } }),
    );
  }
  made() {
    return { resultType: "task", ...this.state };
  }
  become(status) {
    Object.assign(this.state, { status, lastUpdatedAt: new Date().toISOString() });
  }
  end(status, more = {}) {
    if (this.over) return;
    this.become(status);
    this.asked.clear();
    this.over = more;
  }
  ask(name, request) {
    this.become("input_required");
    return new Promise((resolve) => this.asked.set(name, { request, resolve }));
  }
  told(responses) {
    for (const [name, response] of Object.entries(responses)) {
      this.asked.get(name)?.resolve(response);
      this.asked.delete(name);
    }
    if (!this.over && this.asked.size === 0) this.become("working");
  }
  detailed() {
    const requests = [...this.asked].map(([name, { request }]) => [name, request]);
    return { ...this.state, ...(requests.length > 0 ? { inputRequests: Object.fromEntries(requests) } : {}), ...this.over };
  }
}

const tasked = (call, work) => {
  if (!knowsTasks(call)) throw lacksTasks();
  return new Task(work).made();
};
Object.assign(newer, {
  greet: (call) => text(`Hello, ${call.arguments.name}!`),
  slow_compute(call) {
    const { seconds = 0, label = "" } = call.arguments;
    const done = text(`computed ${label}`);
    return seconds > 0 && knowsTasks(call) ? new Task(() => pause(seconds * 1000).then(() => done)).made() : done;
  },
  failing_job: (call) => tasked(call, async () => ({ ...text("the job failed"), isError: true })),
  protocol_error_job: (call) =>
    tasked(call, async () => {
      throw new Failure(-32603, "the job broke");
    }),
  confirm_delete: (call) =>
    tasked(call, async (ask) => {
      const { action } = await ask("confirm", form(`Delete ${call.arguments.filename}?`, { confirm: { type: "boolean" } }));
      return text(action === "accept" ? "deleted" : "kept");
    }),
  multi_input: (call) =>
    tasked(call, async (ask) => {
      const both = ["first", "second"].map((name) => ask(name, form(`The ${name}?`, { name: string() })));
      return text((await Promise.all(both)).map((one) => one.content?.name).join(" and "));
    }),
  test_tool_with_task(call) {
    const user = given(call.responses.user_name);
    if (!user) return needs({ user_name: form("What is your name?", { name: string() }) }, { kind: "task" });
    return tasked(call, async () => text(`Hello, ${user.content?.name}!`));
  },
});

// What is asked about tasks. Undefined: there is no such method.
function aboutTask(method, params, call) {
  if (!["tasks/get", "tasks/update", "tasks/cancel"].includes(method)) return undefined;
  if (!knowsTasks(call)) throw lacksTasks();
  const task = tasks.get(params.taskId);
  if (!task) throw new Failure(-32602, "there is no such task");
  if (method === "tasks/get") return task.detailed();
  if (method === "tasks/update") task.told(params.inputResponses ?? {});
  else task.end("cancelled");
  return {};
}

const delete_ = (from, name) => Object.hasOwn(from, name) && delete from[name];

const prompts = {
  test_simple_prompt: { say: () => [{ type: "text", text: "This is a simple prompt for testing." }] },
  test_prompt_with_arguments: {
    arguments: [{ name: "arg1", required: true }, { name: "arg2", required: true }],
    say: ({ arg1, arg2 }) => [{ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }],
  },
  test_prompt_with_embedded_resource: {
    arguments: [{ name: "resourceUri", required: true }],
    say: ({ resourceUri }) => [
      { type: "resource", resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." } },
      { type: "text", text: "Please process the embedded resource above." },
    ],
  },
  test_prompt_with_image: {
    say: () => [{ type: "image", data: PNG, mimeType: "image/png" }, { type: "text", text: "Please analyze the image above." }],
  },
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PNG },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

function listed(tools) {
  const schemas = {
    json_schema_2020_12_tool: SCHEMA_2020,
    test_sampling: object({ prompt: string() }, ["prompt"]),
    test_custom_header: object({ region: { type: "string", "x-mcp-header": "Region" } }),
    test_elicitation: object({ message: string() }, ["message"]),
  };
  return Object.keys(tools).map((name) => ({ name, description: `For the suite: ${name}`, inputSchema: schemas[name] ?? object() }));
}

// What is the same in both versions. Undefined: there is no such method.
async function answer(message, call, tools, isNewer) {
  const { method, params = {} } = message;
  const missing = (what) => new Failure(-32602, `there is no ${what}`);
  switch (method) {
    case "tools/list":
      return { tools: listed(tools) };
    case "tools/call": {
      const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
      if (!tool) throw missing(`tool ${params.name}`);
      return await tool(call);
    }
    case "prompts/list": {
      const names = isNewer ? { ...prompts, test_input_required_result_prompt: {} } : prompts;
      return { prompts: Object.entries(names).map(([name, prompt]) => ({ name, description: `For the suite: ${name}`, arguments: prompt.arguments ?? [] })) };
    }
    case "prompts/get": {
      if (isNewer && params.name === "test_input_required_result_prompt") {
        const context = given(call.responses.user_context);
        if (!context) return needs({ user_context: form("What context should the prompt use?", { context: string() }) });
        return { messages: [{ role: "user", content: { type: "text", text: `Prompt with context: ${context.content?.context}` } }] };
      }
      const prompt = Object.hasOwn(prompts, params.name) ? prompts[params.name] : undefined;
      if (!prompt) throw missing(`prompt ${params.name}`);
      return { messages: prompt.say(params.arguments ?? {}).map((content) => ({ role: "user", content })) };
    }
    case "resources/list":
      return { resources: Object.entries(resources).map(([uri, of]) => ({ uri, name: uri.slice(7), description: `For the suite: ${uri}`, mimeType: of.mimeType })) };
    case "resources/templates/list":
      return { resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", description: "For the suite", mimeType: "application/json" }] };
    case "resources/read": {
      const id = TEMPLATE.exec(params.uri)?.[1];
      const found = id ? { mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) } : resources[params.uri];
      if (!found) throw new Failure(-32602, "there is no such resource", { uri: params.uri });
      return { contents: [{ uri: params.uri, ...found }] };
    }
    case "completion/complete":
      return { completion: { values: ["paris", "park", "party"].filter((v) => v.startsWith(params.argument?.value ?? "")), hasMore: false } };
  }
}

const send = (response, status, body, headers = {}) => {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(body === undefined ? "" : JSON.stringify(body));
};
const failed = (id, error) => ({
  jsonrpc: "2.0",
  id: id ?? null,
  error: { code: error.code ?? -32603, message: error.message, ...(error.data ? { data: error.data } : {}) },
});

// 2026-07-28: every request stands for itself.
const listening = new Set();
function changed(kind) {
  for (const stream of listening)
    if (stream.wants[`${kind}ListChanged`]) stream.write(`notifications/${kind}/list_changed`, {});
}

const CACHED = ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];
const newerTools = { ...both, ...newer };

function wrong(headers, message) {
  const { method, params = {}, id } = message;
  const meta = params._meta ?? {};
  const version = meta[`${META}protocolVersion`];
  if (!version || typeof meta[`${META}clientCapabilities`] !== "object") return new Failure(-32602, "`_meta` lacks what every request says");
  if (headers["mcp-protocol-version"] !== version) return new Failure(-32020, "MCP-Protocol-Version and the body do not agree");
  if (version !== NEWER) return new Failure(-32022, "that version is not spoken", { supported: [NEWER], requested: version });
  const decode = (value) => (value?.startsWith("=?base64?") && value.endsWith("?=") ? Buffer.from(value.slice(9, -2), "base64").toString() : value);
  if (headers["mcp-method"]?.trim() !== method) return new Failure(-32020, "Mcp-Method and the body do not agree");
  const named = { "tools/call": params.name, "prompts/get": params.name, "resources/read": params.uri };
  for (const of of ["get", "update", "cancel"]) named[`tasks/${of}`] = params.taskId;
  if (Object.hasOwn(named, method) && decode(headers["mcp-name"]?.trim()) !== named[method]) return new Failure(-32020, "Mcp-Name and the body do not agree");
  if (method === "tools/call" && params.name === "test_custom_header") {
    const body = params.arguments?.region ?? undefined;
    const header = headers["mcp-param-region"]?.trim();
    const coded = header?.startsWith("=?base64?") && header.endsWith("?=") ? header.slice(9, -2) : undefined;
    const valid = coded === undefined || Buffer.from(coded, "base64").toString("base64") === coded;
    if (!valid || decode(header) !== body) return new Failure(-32020, "Mcp-Param-Region and the body do not agree");
  }
  return id === undefined ? new Failure(-32600, "there are no notifications") : undefined;
}

async function newerPost(request, response, message) {
  const { id, method, params = {} } = message;
  const bad = wrong(request.headers, message);
  if (bad) return send(response, 400, failed(id, bad));
  const meta = params._meta;
  const stream = (sent) => {
    if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...sent })}\n\n`);
  };
  if (method === "subscriptions/listen") {
    const tag = { [`${META}subscriptionId`]: id };
    const wants = params.notifications ?? {};
    const honoured = Object.fromEntries(["toolsListChanged", "promptsListChanged"].filter((name) => wants[name] === true).map((name) => [name, true]));
    stream({ method: "notifications/subscriptions/acknowledged", params: { _meta: tag, notifications: honoured } });
    const one = { wants: honoured, write: (of, more) => stream({ method: of, params: { ...more, _meta: tag } }) };
    listening.add(one);
    return response.on("close", () => listening.delete(one));
  }
  try {
    const level = meta[`${META}logLevel`];
    const call = {
      arguments: params.arguments ?? {},
      token: meta.progressToken,
      capabilities: meta[`${META}clientCapabilities`],
      responses: given(params.inputResponses) ?? {},
      state: params.requestState === undefined ? undefined : unseal(params.requestState),
      notify: (of, more) => stream({ method: of, params: more }),
      log: (at, data) => level && stream({ method: "notifications/message", params: { level: at, data } }),
    };
    const discovered = { supportedVersions: [NEWER], capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: {}, completions: {}, extensions: { [TASKS]: {} } } };
    const result = method === "server/discover" ? discovered : (aboutTask(method, params, call) ?? (await answer(message, call, newerTools, true)));
    if (!result) throw new Failure(-32601, "there is no such method", undefined, 404);
    const whole = { resultType: "complete", ...(CACHED.includes(method) ? { ttlMs: 0, cacheScope: "private" } : {}), ...result, _meta: { [`${META}serverInfo`]: info } };
    if (!response.headersSent) return send(response, 200, { jsonrpc: "2.0", id, result: whole });
    stream({ id, result: whole });
    response.end();
  } catch (error) {
    if (!response.headersSent) return send(response, error.status ?? 200, failed(id, error));
    stream(failed(id, error));
    response.end();
  }
}

// 2025-11-25 and before: sessions, streams that can be gone on with, and requests of the server.
const sessions = new Map();
const olderTools = { ...both, ...older };

class Stream {
  constructor(session, response) {
    Object.assign(this, { id: randomUUID(), events: [], over: false, response });
    session.streams.set(this.id, this);
    this.head(response);
    // Something to come back to.
    this.push("", "retry: 300\n");
  }
  head(response) {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  }
  push(data, more = "") {
    const event = `id: ${this.id}:${this.events.length}\n${more}data: ${data}\n\n`;
    this.events.push(event);
    this.response?.write(event);
  }
  send(message) {
    this.push(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }
  hangUp() {
    this.response?.end();
    this.response = undefined;
  }
  goOn(response, after) {
    this.head(response);
    for (const event of this.events.slice(after + 1)) response.write(event);
    if (this.over) return response.end();
    this.response = response;
  }
  end() {
    this.over = true;
    this.hangUp();
  }
}

async function olderPost(request, response, message) {
  const { id, method, params = {} } = message;
  const named = request.headers["mcp-session-id"];
  if (method === "initialize" && !named) {
    const key = randomUUID();
    const session = { streams: new Map(), waiting: new Map(), level: "debug", count: 0 };
    sessions.set(key, session);
    const version = OLDER.includes(params.protocolVersion) ? params.protocolVersion : OLDER[0];
    const capabilities = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {}, completions: {} };
    return send(response, 200, { jsonrpc: "2.0", id, result: { protocolVersion: version, capabilities, serverInfo: info } }, { "Mcp-Session-Id": key });
  }
  const session = sessions.get(named);
  if (!session) return send(response, named ? 404 : 400, failed(id, new Failure(-32600, "there is no such session")));
  if (method === undefined) {
    session.waiting.get(id)?.(message);
    session.waiting.delete(id);
  }
  if (method === undefined || id === undefined) return response.writeHead(202).end();
  const plain = { ping: {}, "logging/setLevel": {}, "resources/subscribe": {}, "resources/unsubscribe": {} };
  if (Object.hasOwn(plain, method)) return send(response, 200, { jsonrpc: "2.0", id, result: plain[method] });
  const stream = method === "tools/call" ? new Stream(session, response) : undefined;
  const call = {
    arguments: params.arguments ?? {},
    token: params._meta?.progressToken,
    responses: {},
    notify: (of, more) => stream.send({ method: of, params: more }),
    log: (level, data) => stream.send({ method: "notifications/message", params: { level, data } }),
    hangUp: () => stream.hangUp(),
    ask: async (asked) => {
      const number = `s${(session.count += 1)}`;
      const reply = new Promise((resolve) => session.waiting.set(number, resolve));
      stream.send({ id: number, ...asked });
      const { result, error } = await reply;
      if (error) throw new Failure(-32603, error.message);
      return result;
    },
  };
  let sent;
  try {
    const result = await answer(message, call, olderTools, false);
    if (!result) throw new Failure(-32601, "there is no such method");
    sent = { jsonrpc: "2.0", id, result };
  } catch (error) {
    sent = failed(id, error);
  }
  if (!stream) return send(response, 200, sent);
  stream.send(sent);
  stream.end();
}

function olderGet(request, response) {
  const session = sessions.get(request.headers["mcp-session-id"]);
  if (!session) return send(response, 404);
  const last = String(request.headers["last-event-id"] ?? "");
  const at = last.lastIndexOf(":");
  const stream = session.streams.get(last.slice(0, at));
  if (stream) return stream.goOn(response, Number(last.slice(at + 1)));
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  response.write(": nothing yet\n\n");
}

// Pages of other sites may know a name that leads here.
const local = (host) => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host ?? "");
function stranger({ host, origin }) {
  return !local(host) || (origin !== undefined && !local(origin.replace(/^https?:\/\//, "")));
}

http
  .createServer((request, response) => {
    if (stranger(request.headers)) return send(response, 403);
    const { method, headers } = request;
    const isNewer = headers["mcp-protocol-version"] === NEWER;
    if (method === "GET" && !isNewer) return olderGet(request, response);
    if (method === "DELETE" && !isNewer) return send(response, sessions.delete(headers["mcp-session-id"]) ? 204 : 404);
    if (method !== "POST") return send(response, 405);
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
      let message;
      try {
        message = JSON.parse(Buffer.concat(parts).toString());
      } catch {
        return send(response, 400, failed(null, new Failure(-32700, "that is no JSON")));
      }
      const said = message?.params?._meta?.[`${META}protocolVersion`];
      const version = headers["mcp-protocol-version"];
      const isOlder = said === undefined && (headers["mcp-session-id"] !== undefined || version === undefined || OLDER.includes(version)) && message.method !== "server/discover";
      await (isOlder && !(version === undefined && message?.params?._meta && message.method !== "initialize" && !headers["mcp-session-id"])
        ? olderPost(request, response, message)
        : newerPost(request, response, message));
    });
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
