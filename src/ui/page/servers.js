// Servers and tools as the gateway knows them: pinned or not, covered or not, and what became of their calls.

import { get } from "/api.js";
import { el, short, show } from "/text.js";

const OFTEN = 3000;
const PINS = { pinned: "as accepted", changed: "changed: denied until `bouncer pin --accept` takes it in", new: "new: denied until `bouncer pin --accept` takes it in" };

export function mount(main) {
  let last = null;
  let chosen = null;
  let timer = null;
  let gone = false;
  const pick = el("select", { id: "conversation", onchange: () => ((chosen = pick.value), draw(last)) });
  const bar = el("p", { hidden: true }, el("label", { for: "conversation" }, "Conversation "), pick);
  const place = el("div", {});
  main.append(el("h1", {}, "Servers and tools"), bar, place);
  ask();

  async function ask() {
    try {
      const value = await get("/api/servers");
      const text = JSON.stringify(value);
      if (!gone && text !== JSON.stringify(last)) draw((last = value));
    } catch (error) {
      if (!gone && !last) place.replaceChildren(el("p", { class: "problem" }, show(error.message)));
    }
    if (!gone) timer = setTimeout(ask, OFTEN);
  }

  function draw(value) {
    const names = Object.keys(value.conversations);
    if (!names.includes(chosen)) chosen = names[0];
    bar.hidden = names.length < 2;
    pick.replaceChildren(...names.map((name) => el("option", { value: name, selected: name === chosen }, short(name))));
    const servers = value.conversations[chosen] ?? [];
    if (servers.length === 0) return place.replaceChildren(el("p", { class: "empty" }, "No conversation is open: servers start when an agent comes."));
    const counts = new Map();
    for (const { server, tool, verdict, count } of value.counts) counts.set(JSON.stringify([server, tool, verdict]), count);
    const open = new Set([...place.querySelectorAll("details[open]")].map((node) => node.dataset.id));
    place.replaceChildren(...servers.map((server) => section(server, counts, open)));
  }

  return {
    unmount() {
      gone = true;
      clearTimeout(timer);
    },
  };
}

function section(server, counts, open) {
  const bare = server.tools.filter((tool) => !tool.contract).length;
  const odd = server.tools.filter((tool) => tool.pin !== "pinned").length;
  const many = (count, one, more) => `${count} ${count === 1 ? one : more}`;
  const sum = [many(server.tools.length, "tool", "tools"), odd ? many(odd, "is not as accepted", "are not as accepted") : "all as accepted", bare ? `${bare} without a contract` : "each with a contract"];
  const head = ["Tool", "Pin", "Contract", "Calls may be", "Allowed", "Asked", "Denied"].map((text) => el("th", { scope: "col" }, text));
  const rows = server.tools.map((tool) => {
    const count = (verdict) => counts.get(JSON.stringify([server.name, tool.name, verdict])) ?? 0;
    const id = JSON.stringify([server.name, tool.name]);
    const contract = tool.contract
      ? [show(tool.contract.key), el("span", { class: "dim" }, `${tool.contract.from_pack ? ", from a pack" : ""}${tool.contract.exfiltrating ? ", sends data out" : ""}`)]
      : el("span", { class: "none" }, tool.guessed ? "none; guessed from its name and schema" : "none");
    const title = tool.description ? el("details", { "data-id": id, open: open.has(id) }, el("summary", {}, show(tool.name)), el("p", { class: "description" }, show(tool.description))) : show(tool.name);
    const cell = (label, ...content) => el("td", { "data-label": label }, content);
    return el(
      "tr",
      { class: tool.pin },
      el("th", { scope: "row" }, title, tool.hidden ? el("span", { class: "chip" }, "hidden") : null),
      cell("Pin", el("span", { class: `chip pin-${tool.pin}`, title: PINS[tool.pin] }, tool.pin)),
      cell("Contract", contract),
      cell("Calls may be", tool.may.map((verdict) => el("span", { class: `chip ${verdict}` }, { allow: "allowed", ask: "asked", deny: "denied" }[verdict])), el("span", { class: "dim" }, tool.rules ? ` ${many(tool.rules, "rule", "rules")}` : "")),
      cell("Allowed", String(count("allow"))),
      cell("Asked", String(count("ask"))),
      cell("Denied", String(count("deny"))),
    );
  });
  return el(
    "section",
    { class: "server" },
    el("h2", {}, show(server.name), " ", el("span", { class: `chip state-${server.state}` }, server.state)),
    el("p", { class: "dim" }, sum.join("; "), server.more ? `; ${server.more} more are not shown` : ""),
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
  );
}
