// The policy in force, line by line, and what `bouncer verify` finds about it.

import { get } from "/api.js";
import { el, json, show } from "/text.js";

const OFTEN = 2000;

export function mount(main, { parameters }) {
  let last = null;
  let timer = null;
  let gone = false;
  let target = parameters.get("at");
  const state = el("p", { role: "status" });
  const code = el("div", { class: "code" });
  const found = el("section", { class: "findings", "aria-labelledby": "findings" });
  const picture = el("section", { class: "picture", "aria-labelledby": "effects" });
  main.append(el("h1", {}, "Policy"), state, picture, el("div", { class: "policy" }, code, found));
  ask();

  async function ask() {
    let value = null;
    try {
      value = await get("/api/policy");
    } catch (error) {
      if (!gone) state.replaceChildren(el("span", { class: "problem" }, show(error.message)));
    }
    if (gone) return;
    const text = JSON.stringify(value);
    if (value && text !== last) {
      last = text;
      draw(value);
    }
    timer = setTimeout(ask, OFTEN);
  }

  function draw(value) {
    const verified = value.verified;
    const order = ["error", "warning", "note"];
    const findings = (verified?.findings ?? []).toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
    const counts = verified?.counts;
    const word = (count, text) => (count ? el("span", { class: `chip ${text}` }, `${count} ${text}${count === 1 ? "" : "s"}`) : null);
    state.replaceChildren("Plan ", show(value.plan), ". ");
    if (!verified) state.append("Being verified…");
    else if (verified.error) state.append(el("span", { class: "problem" }, show(verified.error)));
    else if (findings.length === 0) state.append(el("span", { class: "chip allow" }, "verified"), " nothing found.");
    else state.append(...["error", "warning", "note"].map((text) => word(counts[`${text}s`], text)).filter(Boolean));
    if (verified?.coverage?.tools.all) state.append(` ${verified.coverage.tools.covered} of ${verified.coverage.tools.all} tools covered.`);
    const marks = new Map();
    findings.forEach((finding, index) => {
      const at = finding.positions[0];
      if (!at) return;
      const place = `${at.file}:${at.line}`;
      marks.set(place, [...(marks.get(place) ?? []), { finding, index }]);
    });
    picture.replaceChildren(...(verified?.effects ? effects(verified.effects) : []));
    if (value.files === null) code.replaceChildren(el("p", { class: "empty" }, "The plan keeps no policy texts."));
    else if (value.files.length === 0) code.replaceChildren(el("p", { class: "empty" }, "No policy of your own: the packs and heuristics alone."));
    else code.replaceChildren(...value.files.map((file) => listing(file, marks)));
    found.replaceChildren(el("h2", { id: "findings" }, "Findings"), ...(findings.length ? findings.map(card) : [el("p", { class: "dim" }, verified ? "None." : "Not there yet.")]));
    if (target) go(target);
    target = null;
  }

  // What calls get by what they do, and by what was read before.
  function effects({ states, rows }) {
    const example = (of) => [el("p", {}, show(of.server ? `${of.tool} of ${of.server}` : of.tool), " ", el("code", {}, show(of.arguments_raw)), " gets ", el("span", { class: `chip ${of.verdict}` }, of.verdict)), (of.untrusted ?? []).map((text) => el("p", { class: "dim" }, "after reading: ", show(text))), (of.private ?? []).map((text) => el("p", { class: "dim" }, "after reading, private: ", show(text))), (of.typed ?? []).map((text) => el("p", { class: "dim" }, "after the user typed: ", show(text)))];
    const cell = (of) => {
      if (of.verdicts.length === 0 && of.proved) return el("td", { class: "dim" }, "–");
      const chips = of.verdicts.map((verdict) => el("span", { class: `chip ${verdict}` }, verdict));
      const examples = of.verdicts.map((verdict) => {
        const tools = of.tools.filter((tool) => tool.examples.some((e) => e.verdict === verdict));
        const first = tools[0]?.examples.find((e) => e.verdict === verdict);
        return [el("p", {}, el("span", { class: `chip ${verdict}` }, verdict), " ", show(tools.slice(0, 6).map((tool) => tool.tool ?? "tools that the policy does not name").join(", ")), tools.length > 6 ? ` and ${tools.length - 6} more` : ""), first ? example(first) : null];
      });
      const vouched = of.tools.find((tool) => tool.vouched)?.vouched;
      return el("td", {}, el("details", {}, el("summary", {}, chips, of.proved ? "" : " ?", of.vouched ? " *" : ""), examples, vouched ? [el("p", {}, "Where somebody vouches for the target:"), example(vouched)] : null));
    };
    const head = el("tr", {}, el("th", { scope: "col" }, "Effect"), states.map((of) => el("th", { scope: "col" }, of.name)));
    const body = rows.map((row) => el("tr", {}, el("th", { scope: "row" }, show(row.effect ?? "not known"), el("span", { class: "dim" }, ` ${row.tools}`)), row.cells.map(cell)));
    return [el("h2", { id: "effects" }, "What calls get by what they do"), el("table", {}, el("thead", {}, head), el("tbody", {}, body)), el("p", { class: "dim" }, "Calls for whose targets nobody vouches. *: passes where the user typed the target. ?: whether there is another verdict was not decided. –: there are no such calls.")];
  }

  function listing(file, marks) {
    const rows = file.text.split("\n").map((text, index) => {
      const number = index + 1;
      const found = marks.get(`${file.name}:${number}`) ?? [];
      const chips = found.map(({ finding, index: of }) => el("button", { type: "button", class: `chip ${finding.severity}`, onclick: () => focus(document.getElementById(`finding-${of}`)) }, show(finding.code)));
      return el("div", { class: found.length ? `row ${found[0].finding.severity}` : "row", "data-place": `${file.name}:${number}`, tabindex: "-1" }, el("span", { class: "number", "aria-hidden": "true" }, String(number)), el("code", {}, show(text.replace(/\r$/, ""))), chips);
    });
    return el("section", { class: "file" }, el("h2", {}, show(file.name)), el("div", { class: "listing", role: "region", "aria-label": file.name, tabindex: "0" }, rows));
  }

  function card(finding, index) {
    const places = finding.positions.map((at) => el("li", {}, el("button", { type: "button", class: "quiet", onclick: () => go(`${at.file}:${at.line}`) }, show(`${at.file}:${at.line}:${at.column}`)), at.label ? [" ", show(at.label)] : []));
    const example = finding.example;
    return el(
      "article",
      { class: `finding ${finding.severity}`, id: `finding-${index}`, tabindex: "-1" },
      el("h3", {}, el("span", { class: `chip ${finding.severity}` }, show(finding.code)), " ", show(finding.message)),
      el("ul", { class: "places" }, places),
      finding.help ? el("p", {}, show(finding.help)) : null,
      example ? el("details", {}, el("summary", {}, "A call that shows it"), el("p", {}, show(example.tool), " gets ", el("span", { class: `chip ${example.verdict}` }, example.verdict)), el("pre", { class: "arguments", tabindex: "0", "aria-label": "Arguments" }, json(example.arguments_raw ?? "{}")), (example.untrusted ?? []).map((text) => el("p", { class: "dim" }, "after reading: ", show(text))), (example.typed ?? []).map((text) => el("p", { class: "dim" }, "after the user typed: ", show(text)))) : null,
    );
  }

  function go(at) {
    const [, file, line] = /^(.*?):(\d+)(?::\d+)?$/.exec(at) ?? [];
    const rows = [...code.querySelectorAll("[data-place]")];
    focus(rows.find((row) => row.dataset.place === `${file}:${line}`));
  }

  function focus(node) {
    node?.focus();
    node?.scrollIntoView({ block: "center" });
  }

  return {
    unmount() {
      gone = true;
      clearTimeout(timer);
    },
  };
}
