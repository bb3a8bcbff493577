// The frame of the page: which view is shown, keys, and what is asked of the gateway again and again.

import { get, post, takeToken, Trouble } from "/api.js";
import * as approvals from "/approvals.js";
import * as log from "/log.js";
import * as policy from "/policy.js";
import * as servers from "/servers.js";
import { show } from "/text.js";

const VIEWS = { approvals, log, servers, policy };
const SOON = 1000;
const LATER = 5000;

const by = (id) => document.getElementById(id);
const main = by("main");
let view = null;
let name = null;
let seen = null;
let latest = null;

// Says something to those who do not see the page.
export function say(text) {
  by("status").textContent = text;
}

function trouble(error) {
  const box = by("notice");
  const lost = error !== null;
  document.body.classList.toggle("lost", lost);
  if (!lost) {
    box.hidden = true;
    return;
  }
  const text =
    error.status === 401
      ? "This tab has no valid token: open the link of the gateway that runs now. It is in ~/.bouncer/page-PORT.link, or on the gateway's standard error."
      : error.status === 0
        ? "The gateway does not answer. What you see may be out of date, and nothing can be approved."
        : `Something is wrong: ${error.message}`;
  if (box.textContent !== text || box.hidden) {
    box.replaceChildren(show(text));
    box.hidden = false;
  }
}

function route() {
  const [wanted, query] = location.hash.slice(1).split("?");
  if (wanted === "main") return main.focus();
  const next = Object.hasOwn(VIEWS, wanted) ? wanted : "approvals";
  view?.unmount?.();
  name = next;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${next}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.replaceChildren();
  view = VIEWS[next].mount(main, { parameters: new URLSearchParams(query), say });
  if (next === "approvals" && latest) view.update(latest);
}

async function poll() {
  let pause = SOON;
  try {
    const value = await get("/api/approvals", { seen });
    trouble(null);
    if (!value.same) {
      seen = value.seen;
      latest = value;
      const count = value.waiting.length + value.more;
      by("count").textContent = String(count);
      by("count").hidden = count === 0;
      document.title = count > 0 ? `(${count}) bouncer` : "bouncer";
      if (name === "approvals") view.update(value);
    }
  } catch (error) {
    trouble(error instanceof Trouble ? error : new Trouble(-1, String(error)));
    seen = null;
    if (error.status === 401) pause = LATER;
  }
  setTimeout(poll, document.hidden ? 3 * SOON : pause);
}

// The stop that `bouncer halt` makes, too. It is ended only by whoever is asked once more.
async function halt() {
  const halted = by("halt").getAttribute("aria-pressed") === "true";
  if (halted && !confirm("Let calls be judged again?")) return;
  try {
    const value = await post("/api/halt", { halt: !halted });
    stopped(value.halted);
    say(halted ? "Calls are judged again" : "Every call is denied");
  } catch (error) {
    trouble(error instanceof Trouble ? error : new Trouble(-1, String(error)));
  }
}

function stopped(reason) {
  const halted = reason !== null && reason !== undefined;
  by("halt").setAttribute("aria-pressed", String(halted));
  by("halt").textContent = halted ? "Resume" : "Stop everything";
}

async function about() {
  try {
    const value = await get("/api/about");
    by("plan").replaceChildren("plan ", show(value.plan ?? "none"));
    by("plan").title = `bouncer ${value.version}`;
    const box = by("observes");
    const texts = [];
    if (value.observes) texts.push("Nothing is blocked: this gateway only observes its policy. Calls that it asks about or denies go through.");
    stopped(value.halted);
    if (value.halted) texts.push(`Calls are denied, until somebody resumes: ${value.halted}`);
    if (value.failure) texts.push(`The policy on disk is not the one in force: ${value.failure}`);
    if (box.textContent !== texts.join(" ")) box.replaceChildren(show(texts.join(" ")));
    box.hidden = texts.length === 0;
  } catch {
    // The other question says so.
  }
  setTimeout(about, LATER);
}

function keys(event) {
  const field = event.target instanceof Element && event.target.closest("input, select, textarea, [contenteditable]");
  if (field || event.ctrlKey || event.metaKey || event.altKey || by("help").open) return;
  const views = Object.keys(VIEWS);
  if (/^[1-4]$/.test(event.key)) location.hash = views[Number(event.key) - 1];
  else if (event.key === "?") by("help").showModal();
  else if (event.key === "/") {
    if (name === "log") view.search();
    else location.hash = "log?search=1";
  } else if (!view?.key?.(event.key)) return;
  event.preventDefault();
}

takeToken();
by("halt").addEventListener("click", halt);
by("keys").addEventListener("click", () => by("help").showModal());
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    takeToken();
    seen = null;
  }
  route();
});
addEventListener("keydown", keys);
document.addEventListener("visibilitychange", () => document.hidden || view?.refresh?.());
route();
poll();
about();
