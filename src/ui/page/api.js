// How the page speaks to the gateway. The token comes behind `#` in the link, goes out of the address at once, and is
// kept for this tab only. It is sent in a header that other pages cannot send.

const KEY = "bouncer-token";

export function takeToken() {
  const found = /^#token=([0-9a-f]{64})$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", "/#approvals");
  }
}

export class Trouble extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  if (!token) throw new Trouble(401, "this tab has no token");
  let reply;
  try {
    reply = await fetch(path, {
      ...options,
      headers: { ...options.headers, Authorization: `Bearer ${token}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch {
    throw new Trouble(0, "the gateway does not answer");
  }
  let value = {};
  try {
    value = await reply.json();
  } catch {
    // Whatever it is, it is no answer of the gateway.
  }
  if (!reply.ok) throw new Trouble(reply.status, value.error ?? `status ${reply.status}`);
  return value;
}

export function get(path, parameters = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  const text = query.toString();
  return ask(text ? `${path}?${text}` : path, { signal });
}

export function post(path, value) {
  const headers = { "Content-Type": "application/json", "Bouncer-Page": "1" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(value) });
}
