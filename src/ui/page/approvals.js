// Calls that wait for a human. A card never moves once it is there, so that no click meets another call than the one
// that was looked at; new ones come last.

import { get, post } from "/api.js";
import { el, json, notesOf, short, show, span, when } from "/text.js";

// A card that has just appeared cannot be meant by a click or a key that was under way.
const ARMED_AFTER = 700;
const TICK = 1000;
const WORDS = { approved: "Approved", denied: "Denied", used: "Approved, and the call went through", expired: "Expired" };

export function mount(main, { say }) {
  const cards = new Map();
  let offset = 0;
  const empty = el("p", { class: "empty" }, "Nothing waits for you. Calls that the policy asks about show up here by themselves.");
  const waiting = el("div", { class: "cards", role: "feed", "aria-label": "Calls that wait" });
  const more = el("p", { hidden: true });
  const clear = el("button", { type: "button", class: "quiet", hidden: true, onclick: sweep }, "Clear what is decided");
  const holding = el("section", { "aria-labelledby": "holding", hidden: true });
  const recent = el("section", { "aria-labelledby": "recent", hidden: true });
  main.append(el("h1", {}, "Approvals"), empty, waiting, more, clear, holding, recent);
  const ticking = setInterval(tick, TICK);

  const now = () => Date.now() + offset;

  function update(value) {
    offset = value.now_ms - Date.now();
    const fresh = value.waiting.filter((record) => !cards.has(record.id));
    for (const record of fresh) {
      const card = make(record);
      cards.set(record.id, card);
      waiting.append(card.node);
      card.fit();
    }
    const ids = new Set(value.waiting.map((record) => record.id));
    const known = new Map([...value.recent, ...value.holding].map((record) => [record.id, record]));
    for (const [id, card] of cards) {
      if (!card.open || ids.has(id)) continue;
      if (known.has(id)) card.close(known.get(id));
      else get("/api/approval", { id }).then((record) => record.status !== "pending" && card.close(record), () => {});
    }
    more.hidden = value.more === 0;
    more.textContent = `${value.more} more wait behind these.`;
    empty.hidden = cards.size > 0;
    if (fresh.length > 0) say(`${value.waiting.length} ${value.waiting.length === 1 ? "call waits" : "calls wait"} for you`);
    list(holding, "holding", "Approved, and good for more", value.holding, true);
    list(recent, "recent", "Decided lately", value.recent, false);
    tick();
  }

  function sweep() {
    for (const [id, card] of cards) {
      if (card.open) continue;
      card.node.remove();
      cards.delete(id);
    }
    clear.hidden = true;
    empty.hidden = cards.size > 0;
    main.focus();
  }

  function tick() {
    for (const card of cards.values()) card.tick(now());
  }

  function make(record) {
    const notes = new Set();
    const id = `card-${record.id}`;
    const title = el("h2", { id: `${id}-title` }, record.server ? [el("span", { class: "server" }, show(record.server, notes)), " › "] : [], el("span", { class: "tool" }, show(record.tool, notes)));
    const lapses = el("span", { class: "lapses" });
    const problem = el("p", { class: "problem", role: "alert", hidden: true });
    const outcome = el("p", { class: "outcome", hidden: true });
    const about = record.destination === null ? null : el("p", { class: "destination" }, "Send to ", el("strong", {}, show(record.destination, notes)), " ", el("span", { class: "dim" }, "(", show(record.param ?? "", notes), ")"));
    const box = el("div", { class: "box" });
    const reason = el("dd", {}, show(record.reason, notes));
    const facts = el("dl", { class: "facts" }, el("div", {}, el("dt", {}, "Why"), reason));
    if (record.at) facts.append(el("div", {}, el("dt", {}, "Rule"), el("dd", {}, el("a", { href: `#policy?at=${encodeURIComponent(record.at)}` }, show(record.at)))));
    for (const [what, first] of Object.entries(record.around?.read ?? {}))
      facts.append(el("div", {}, el("dt", {}, "Read before"), el("dd", {}, `${what} text, first in `, el("strong", {}, show(first.tool, notes)), first.server ? [" of ", show(first.server, notes)] : [], `, result ${first.call}`)));
    if (record.around?.client) facts.append(el("div", {}, el("dt", {}, "Client"), el("dd", {}, show(record.around.client, notes))));
    if (record.around?.redacted) facts.append(el("div", {}, el("dt", {}, "Secrets"), el("dd", {}, "are not shown in the arguments")));
    const from = provenance(record, notes);
    if (from) facts.append(el("div", { class: "from" }, el("dt", {}, "Where it comes from"), from));
    facts.append(el("div", {}, el("dt", {}, "Conversation"), el("dd", {}, el("a", { href: `#log?conversation=${encodeURIComponent(record.conversation)}` }, show(short(record.conversation))), el("span", { class: "dim" }, `, asked ${when(record.created_ms)}, request `, show(record.id)))));
    const look = el("div", {});
    const button = (choice, text, kind) => el("button", { type: "button", class: kind, "data-choice": choice, "data-decides": true, disabled: true, onclick: () => decide(choice) }, text);
    const buttons =
      record.destination === null
        ? [button("once", "Approve once", "yes"), button("conversation", "Approve for the conversation", "yes softer"), button("deny", "Deny", "no")]
        : [button("once", "Approve once", "yes"), button("conversation", "Approve whatever is sent there", "yes softer"), button("deny", "Deny", "no")];
    const hint =
      record.destination === null
        ? "Once: exactly this call, and the agent has to make it again within a quarter of an hour. For the conversation: exactly this call, as often as this conversation makes it, for a day at most."
        : "Once: exactly this call. Whatever is sent there: any call of this tool that sends to this destination in this parameter, until this conversation ends, for a day at most.";
    const actions = el("div", { class: "actions", role: "group", "aria-label": "Decide" }, buttons);
    const foot = el("footer", {}, actions, el("p", { class: "dim hint" }, hint), problem, outcome);
    const node = el("article", { class: "card", id, tabindex: "-1", "aria-labelledby": `${id}-title` }, el("div", { class: "head" }, title, lapses), about, box, facts, look, foot);
    const card = { node, record, open: true, whole: record.arguments !== null, armed: false, fit, close, tick: ticked, buttons };
    fill();
    setTimeout(() => {
      card.armed = true;
      enable();
    }, ARMED_AFTER);

    function fill() {
      if (card.whole) {
        const pre = el("pre", { class: "arguments", tabindex: "0", "aria-label": "Arguments" }, json(record.arguments, notes));
        box.replaceChildren(pre);
      } else {
        const load = async () => {
          try {
            record.arguments = (await get("/api/approval", { id: record.id })).arguments;
            card.whole = true;
            fill();
            fit();
            enable();
          } catch (error) {
            fail(error);
          }
        };
        box.replaceChildren(el("p", {}, `Its arguments are long (${record.arguments_bytes} bytes). `, el("button", { type: "button", onclick: load }, "Show them"), " before you approve."));
      }
      look.replaceChildren(...[notesOf(notes)].filter(Boolean));
    }

    // Long arguments scroll; all of them can be shown.
    function fit() {
      const pre = box.querySelector("pre");
      if (!pre || pre.scrollHeight <= pre.clientHeight + 4) return;
      const lines = pre.textContent.split("\n").length;
      const all = el("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: toggle }, `Show all ${lines > 1 ? `${lines} lines` : "of it"}`);
      function toggle() {
        const whole = pre.classList.toggle("whole");
        all.setAttribute("aria-expanded", String(whole));
        all.textContent = whole ? "Show less" : `Show all ${lines > 1 ? `${lines} lines` : "of it"}`;
      }
      box.append(all);
    }

    function enable() {
      for (const each of buttons) each.disabled = !card.open || !card.armed || (each.dataset.choice !== "deny" && !card.whole);
    }

    function fail(error) {
      problem.replaceChildren(show(error.message));
      problem.hidden = false;
    }

    async function decide(choice) {
      if (!card.open || !card.armed || document.body.classList.contains("lost")) return;
      const held = node.contains(document.activeElement);
      for (const each of buttons) each.disabled = true;
      problem.hidden = true;
      try {
        close(await post("/api/approvals", { id: record.id, choice }), true);
      } catch (error) {
        if (error.status === 409 || error.status === 404) {
          fail(error);
          await get("/api/approval", { id: record.id }).then((known) => close(known), () => {});
        } else {
          fail(error);
          enable();
        }
      }
      if (held) (next(card) ?? node).focus();
    }

    function close(known, own = false) {
      card.open = false;
      node.classList.add("done", known.status);
      actions.remove();
      foot.querySelector(".hint")?.remove();
      const where = own ? "here" : "elsewhere";
      const what = known.status === "expired" ? "Expired: nobody decided in time" : `${WORDS[known.status] ?? known.status}${known.status !== "denied" && known.lasting ? " for the conversation" : ""}, ${where}`;
      outcome.replaceChildren(show(what));
      outcome.hidden = false;
      lapses.textContent = "";
      clear.hidden = false;
      say(`${record.tool}: ${what}`);
    }

    function ticked(time) {
      if (!card.open) return;
      const left = record.expires_ms - time;
      lapses.textContent = left > 0 ? `lapses in ${span(left)}` : "lapsed";
      lapses.classList.toggle("soon", left < 120000);
      if (left <= 0) for (const each of buttons) each.disabled = true;
    }
    return card;
  }

  function next(card) {
    const open = [...cards.values()].filter((each) => each.open);
    const place = [...cards.values()].indexOf(card);
    return (open.find((each) => [...cards.values()].indexOf(each) > place) ?? open[0])?.node;
  }

  function list(section, id, title, records, back) {
    section.hidden = records.length === 0;
    const held = section.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    const items = records.map((record) => {
      const word = back ? (record.lasting ? "for the conversation" : "once") : WORDS[record.status];
      const used = record.lasting ? `, used ${record.uses} ${record.uses === 1 ? "time" : "times"}` : "";
      const take = back && el("button", { type: "button", class: "no small", "data-id": record.id, "data-decides": true, onclick: () => post("/api/approvals", { id: record.id, choice: "deny" }).then(() => say("taken back"), (error) => say(error.message)) }, "Take back");
      return el("li", { class: record.status }, el("span", { class: "what" }, show(`${record.server ? `${record.server} › ` : ""}${record.tool}`)), " ", el("span", { class: "dim" }, record.destination ? ["to ", show(record.destination)] : el("code", {}, show((record.arguments ?? "").slice(0, 120)))), " ", el("span", { class: "word" }, `${word}${used}`), " ", el("a", { href: `#log?approval=${encodeURIComponent(record.id)}` }, show(record.id)), take && [" ", take]);
    });
    section.replaceChildren(el("h2", { id }, title), el("ul", { class: "rows" }, items));
    if (held) section.querySelector(`[data-id="${CSS.escape(held)}"]`)?.focus();
  }

  // Keys only move the focus: nothing is approved by one.
  function key(pressed) {
    const all = [...cards.values()];
    const here = all.findIndex((card) => card.node.contains(document.activeElement));
    if (pressed === "j" || pressed === "k") {
      const to = here < 0 ? 0 : Math.min(all.length - 1, Math.max(0, here + (pressed === "j" ? 1 : -1)));
      all[to]?.node.focus();
      return all.length > 0;
    }
    const choice = { a: "once", c: "conversation", d: "deny" }[pressed];
    if (!choice) return false;
    const card = here < 0 ? all.find((each) => each.open) : all[here];
    card?.buttons.find((each) => each.dataset.choice === choice && !each.disabled)?.focus();
    return true;
  }

  return { update, key, unmount: () => clearInterval(ticking) };
}

function provenance(record, notes) {
  const grounds = record.grounds;
  if (!grounds) return null;
  const value = el("span", { class: "value" }, show(grounds.value, notes));
  const seen = grounds.seen;
  if (!seen) return el("dd", {}, value, ": nowhere. Nothing that the agent has read holds it, and nothing vouches for it.");
  const origin = el("p", {}, value, " stood in the output of ", el("strong", {}, show(seen.tool, notes)), seen.server ? [" of ", show(seen.server, notes)] : [], `, result ${seen.call}`, seen.field ? [", field ", el("code", {}, show(seen.field, notes))] : [], ` (${seen.label})`, seen.time ? `, read ${when(seen.time)}` : "");
  const excerpt = seen.excerpt ? el("blockquote", {}, show(seen.excerpt, notes)) : null;
  const link = el("a", { href: `#log?${new URLSearchParams({ conversation: record.conversation, tool: seen.tool })}` }, "Calls of that tool in the log");
  return el("dd", {}, origin, excerpt, link);
}
export { provenance };
