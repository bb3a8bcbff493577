// Text from outside, made visible and inert. Everything goes into the page as text, never as markup; what does not
// show, or moves other text, is written as an escape, as the command line does.

// Controls, what reorders or hides, spaces other than the plain one, blanks that look like none.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u;
const PIECES = new RegExp(`(${HIDDEN.source})|([\\p{L}\\p{M}\\p{N}]+)`, "gu");
const LATIN = /\p{Script=Latin}/u;
const OTHER = /\p{Script=Cyrillic}|\p{Script=Greek}|\p{Script=Armenian}|\p{Script=Cherokee}|\p{Script=Coptic}|\p{Script=Lisu}/u;
// Letters that are made to look like others: full width, and those of formulas.
const DISGUISED = /[\uff01-\uff5e\u{1d400}-\u{1d7ff}]/u;
// Words of nothing but these pass for Latin ones.
const LOOKALIKES = /^[аеорсухіјѕһԁԛԝӏьгпкАВЕКМНОРСТУХІЈЅԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧαοινρυχκ0-9]+$/u;

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const code = (c) => c.codePointAt(0).toString(16);
const name = (c) => `U+${code(c).toUpperCase().padStart(4, "0")}`;

function escape(c) {
  if (c === "\n") return "\\n";
  if (c === "\t") return "\\t";
  if (c === "\r") return "\\r";
  return `\\u{${code(c)}}`;
}

// The letters of a word that are not what they seem.
function strange(word) {
  const letters = [...word].filter((c) => OTHER.test(c) || DISGUISED.test(c));
  if (letters.length === 0) return [];
  const mixed = LATIN.test(word.replace(new RegExp(DISGUISED.source, "gu"), ""));
  return mixed || letters.some((c) => DISGUISED.test(c)) || LOOKALIKES.test(word) ? letters : [];
}

// `notes`, a set, gets what a reader should look at twice.
export function show(text, notes = new Set(), { breaks = false, quoted = false } = {}) {
  const out = document.createDocumentFragment();
  const plain = (piece) => out.append(quoted ? piece.replace(/["\\]/g, "\\$&") : piece);
  let last = 0;
  for (const found of String(text).matchAll(PIECES)) {
    const [piece, hidden] = found;
    const letters = hidden ? [] : strange(piece);
    if (!hidden && letters.length === 0) continue;
    plain(text.slice(last, found.index));
    last = found.index + piece.length;
    if (hidden) {
      out.append(el("span", { class: "escape", title: name(piece) }, escape(piece)));
      if (piece === "\n" && breaks) out.append("\n");
      else if (!/[\n\r\t\u00a0]/.test(piece)) notes.add(`a character that does not show, ${name(piece)}`);
    } else {
      out.append(el("span", { class: "strange", title: letters.map(name).join(" ") }, piece));
      notes.add(`letters that look like others: ${[...new Set(letters)].slice(0, 5).map((c) => `${c} (${name(c)})`).join(", ")}`);
    }
  }
  plain(String(text).slice(last));
  return out;
}

// A JSON text, indented. Not parsed as a whole: numbers stay as they are written.
export function json(raw, notes = new Set()) {
  const out = document.createDocumentFragment();
  let depth = 0;
  let at = 0;
  let key = false;
  const keys = [];
  const line = () => out.append("\n" + "  ".repeat(Math.min(depth, 40)));
  const space = () => {
    while (at < raw.length && " \t\r\n".includes(raw[at])) at++;
  };
  while (at < raw.length) {
    space();
    const c = raw[at];
    if (c === undefined) break;
    if (c === "{" || c === "[") {
      const closes = c === "{" ? "}" : "]";
      at++;
      space();
      if (raw[at] === closes) {
        out.append(c + closes);
        at++;
        continue;
      }
      out.append(c);
      keys.push(c === "{");
      key = c === "{";
      depth++;
      line();
    } else if (c === "}" || c === "]") {
      depth = Math.max(0, depth - 1);
      keys.pop();
      at++;
      line();
      out.append(c);
    } else if (c === ",") {
      at++;
      out.append(c);
      key = keys.at(-1) === true;
      line();
    } else if (c === ":") {
      at++;
      out.append(": ");
      key = false;
    } else if (c === '"') {
      let end = at + 1;
      while (end < raw.length && raw[end] !== '"') end += raw[end] === "\\" ? 2 : 1;
      const token = raw.slice(at, end + 1);
      at = end + 1;
      out.append(string(token, key, notes));
    } else {
      let end = at + 1;
      while (end < raw.length && !' \t\r\n,:{}[]"'.includes(raw[end])) end++;
      out.append(el("span", { class: "literal" }, show(raw.slice(at, end), notes)));
      at = end;
    }
  }
  return out;
}

function string(token, key, notes) {
  let text;
  try {
    text = JSON.parse(token);
  } catch {
    return show(token, notes);
  }
  const several = !key && text.includes("\n");
  const kind = key ? "key" : several ? "string several" : "string";
  return el("span", { class: kind }, '"', show(text, notes, { breaks: several, quoted: true }), '"');
}

// A length of time, in one unit.
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

export function when(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text);
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

// The part of a conversation's name that people can tell apart.
export function short(conversation) {
  const [first, second] = String(conversation).split("/");
  return second === undefined ? first.slice(0, 8) : `${first}/${second.slice(0, 8)}`;
}

export function notesOf(notes) {
  if (notes.size === 0) return null;
  const items = [...notes].slice(0, 6).map((note) => el("li", {}, note));
  return el("div", { class: "look", role: "note" }, el("strong", {}, "Look twice: "), el("ul", {}, items));
}
