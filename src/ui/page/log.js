// The audit log: searched by the gateway, a page at a time, from its end.

import { get } from "/api.js";
import { provenance } from "/approvals.js";
import { el, json, notesOf, short, show, when } from "/text.js";

const PAGE = 50;
const FIELDS = ["text", "verdict", "outcome", "tool", "server", "since", "contract", "conversation", "approval"];
const OUTCOMES = ["forwarded", "observed", "blocked", "asked", "declined", "timed_out", "cancelled", "nobody_to_ask", "filed"];
const STAGES = ["rule", "sink_gate", "effect", "pinning", "budget", "constraint", "malformed", "default"];
let chain = null;

export function mount(main, { parameters, say }) {
  let next = null;
  let asking = null;
  const field = (label, input) => el("label", {}, el("span", {}, label), input);
  const pick = (name, label, options) =>
    field(label, el("select", { name }, el("option", { value: "" }, "any"), options.map((option) => (Array.isArray(option) ? el("option", { value: option[0] }, option[1]) : el("option", { value: option }, option.replaceAll("_", " "))))));
  const text = (name, label, hint) => field(label, el("input", { name, type: name === "text" ? "search" : "text", autocomplete: "off", spellcheck: "false", placeholder: hint }));
  const form = el(
    "form",
    { class: "filters", role: "search", "aria-label": "Search the log", onsubmit: submit },
    text("text", "Text", "anything in a line"),
    pick("verdict", "Verdict", ["allow", "ask", "deny"]),
    pick("outcome", "Outcome", OUTCOMES),
    pick("contract", "Decided by", STAGES),
    text("tool", "Tool", "mail__*"),
    text("server", "Server", ""),
    pick("since", "Since", [["15m", "15 minutes"], ["2h", "2 hours"], ["1d", "a day"], ["7d", "a week"]]),
    text("conversation", "Conversation", "its beginning"),
    text("approval", "Request", "req_…"),
    el("div", { class: "go" }, el("button", { type: "submit", class: "yes" }, "Search"), el("button", { type: "button", class: "quiet", onclick: reset }, "Reset")),
  );
  const state = el("p", { class: "chain", role: "status" });
  const check = el("button", { type: "button", class: "quiet", onclick: verify }, "Check the chain");
  const counts = el("p", { class: "counts" });
  const lines = el("div", { class: "lines" });
  const foot = el("p", { class: "dim" });
  const older = el("button", { type: "button", hidden: true, onclick: () => load(true) }, "Older lines");
  main.append(el("h1", {}, "Log"), el("div", { class: "chainbar" }, state, check), form, counts, lines, foot, older);
  for (const name of FIELDS) if (parameters.get(name)) form.elements[name].value = parameters.get(name);
  if (parameters.get("search")) form.elements.text.focus();
  form.addEventListener("change", (event) => event.target.matches("select") && submit(event));
  if (chain) told(chain);
  else verify();
  load(false);

  function wanted() {
    return Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value.trim()]));
  }

  function submit(event) {
    event.preventDefault();
    const set = Object.entries(wanted()).filter(([, value]) => value);
    history.replaceState(null, "", `#log${set.length ? `?${new URLSearchParams(set)}` : ""}`);
    load(false);
  }

  function reset() {
    for (const name of FIELDS) form.elements[name].value = "";
    history.replaceState(null, "", "#log");
    load(false);
  }

  async function load(further) {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const filter = wanted();
    try {
      const page = await get("/api/log", { ...filter, limit: String(PAGE), before: further ? next : "" }, signal);
      if (!further) lines.replaceChildren();
      lines.append(...page.lines.map(row));
      next = page.next;
      older.hidden = !next;
      const none = lines.childElementCount === 0;
      foot.textContent = none
        ? next ? "None in the newest part of the log; look further back." : "No such lines."
        : `${lines.childElementCount} lines${next ? "" : ", that is all"}${page.unreadable ? `; ${page.unreadable} cannot be read` : ""}`;
      say(foot.textContent);
      if (further) return;
      const found = await get("/api/log/counts", filter, signal);
      total(found);
    } catch (error) {
      if (signal.aborted) return;
      foot.replaceChildren(el("span", { class: "problem" }, show(error.message)));
    }
  }

  function total({ counts: found, whole }) {
    const part = (of) => Object.entries(of).sort((a, b) => b[1] - a[1]).map(([name, count]) => el("span", { class: `chip ${name}` }, `${name.replaceAll("_", " ")} ${count}`));
    counts.replaceChildren(`${found.calls} ${found.calls === 1 ? "call" : "calls"} in ${found.conversations} ${found.conversations === 1 ? "conversation" : "conversations"}${whole ? "" : " (newest part of the log)"} `, ...part(found.verdicts), " ", ...part(found.outcomes));
  }

  async function verify() {
    state.replaceChildren("Checking the chain…");
    check.disabled = true;
    try {
      chain = await get("/api/log/chain");
      chain.at = Date.now();
      told(chain);
    } catch (error) {
      state.replaceChildren(el("span", { class: "chip deny" }, "not checked"), " ", show(error.message));
    }
    check.disabled = false;
  }

  function told(report) {
    const time = new Date(report.at).toLocaleTimeString();
    if (report.fault_count === 0) {
      state.replaceChildren(el("span", { class: "chip allow" }, "clean"), ` ${report.lines} lines in ${report.files.length} ${report.files.length === 1 ? "file" : "files"} were as they were written at ${time}.`, report.anchor ? el("details", {}, el("summary", {}, "Anchor"), el("code", {}, show(report.anchor)), el("span", { class: "dim" }, " Keep it somewhere else: `bouncer audit verify --anchor …` then also notices a log that was written anew.")) : "");
    } else {
      const faults = report.faults.slice(0, 20).map((fault) => el("li", {}, show(`${fault.file}${fault.line ? `:${fault.line}` : ""}: ${fault.what}`)));
      state.replaceChildren(el("span", { class: "chip deny" }, "broken"), ` ${report.fault_count} ${report.fault_count === 1 ? "place is" : "places are"} not as written (at ${time}).`, el("ul", {}, faults));
    }
  }

  return { unmount: () => asking?.abort(), search: () => form.elements.text.focus() };
}

function row(line) {
  const kind = line.event ? "event" : (line.verdict ?? "");
  const what = line.event ? line.event : `${line.server ? `${line.server} › ` : ""}${line.tool ?? "(no tool)"}`;
  const summary = el("summary", {}, el("time", {}, when(line.time)), el("span", { class: `chip ${kind}` }, line.event ? "event" : show(line.verdict ?? "")), el("span", { class: "what" }, show(what)), el("span", { class: "dim" }, show((line.outcome ?? "").replaceAll("_", " "))), el("span", { class: "reason" }, kind === "allow" ? "" : show(line.reason.slice(0, 200))));
  const node = el("details", { class: `line ${kind}` }, summary);
  // Most lines are never opened.
  node.addEventListener("toggle", () => node.open && node.childElementCount === 1 && node.append(body(line)), { once: true });
  return node;
}

function body(line) {
  const notes = new Set();
  const facts = el("dl", { class: "facts" });
  const fact = (name, ...value) => facts.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  if (line.reason) fact("Reason", show(line.reason, notes));
  if (line.contract) fact("Decided by", show(`${line.contract} (${line.code})`));
  if (line.at) fact("Rule", el("a", { href: `#policy?at=${encodeURIComponent(line.at)}` }, show(line.at)));
  const from = line.grounds && provenance(line, notes);
  if (from) facts.append(el("div", {}, el("dt", {}, "Where it comes from"), from));
  if (line.approval) fact("Approval", el("a", { href: `#log?approval=${encodeURIComponent(line.approval)}` }, show(line.approval)));
  if (line.conversation) fact("Conversation", el("a", { href: `#log?conversation=${encodeURIComponent(line.conversation)}` }, show(short(line.conversation))), line.call ? `, call ${line.call}` : "");
  const read = (first) => `${first.tool}${first.server ? ` of ${first.server}` : ""}, call ${first.call}, ${when(new Date(first.time).toISOString())}`;
  if (line.read?.untrusted) fact("Untrusted text read before", show(read(line.read.untrusted)));
  if (line.read?.private) fact("Private values read before", show(read(line.read.private)));
  if (line.forgotten) fact("Forgotten", `${line.forgotten} pieces of what was read`);
  fact("Line", `${line.seq ?? "?"}, plan `, show(line.plan ?? ""), line.latency_us ? `, ${line.latency_us} µs` : "");
  const raw = line.arguments ?? line.arguments_text;
  const pre = raw ? el("pre", { class: "arguments", tabindex: "0", "aria-label": "Arguments" }, line.arguments ? json(raw, notes) : show(raw, notes)) : null;
  return el("div", { class: "body" }, pre, facts, notesOf(notes));
}
