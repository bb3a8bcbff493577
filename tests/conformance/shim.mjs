// Between the suite and the gateway: the suite calls tools and prompts by fixed names, the gateway shows them as
// `<server>__<name>`, and gives tasks ids that begin so. Names and these ids get the prefix on the way in and lose it on the
// way out; all else passes as it is.
import http from "node:http";
import { Transform } from "node:stream";

const NAMED = new Set(["tools/call", "prompts/get"]);
const TASKS = new Set(["tasks/get", "tasks/update", "tasks/cancel"]);

function prefixed(raw, prefix) {
  let message;
  try {
    message = JSON.parse(raw.toString());
  } catch {
    return raw;
  }
  const params = message?.params;
  const reference = params?.ref;
  if (NAMED.has(message?.method) && typeof params?.name === "string") {
    params.name = prefix + params.name;
  } else if (TASKS.has(message?.method) && typeof params?.taskId === "string") {
    params.taskId = prefix + params.taskId;
  } else if (message?.method === "completion/complete" && reference?.type === "ref/prompt" && typeof reference.name === "string") {
    reference.name = prefix + reference.name;
  } else {
    return raw;
  }
  return Buffer.from(JSON.stringify(message));
}

// Holds the last line back until it is whole, so that no name is cut in two.
function stripping(prefix) {
  let held = "";
  const strip = (text) => text.replaceAll(prefix, "");
  return new Transform({
    decodeStrings: false,
    transform(chunk, _encoding, done) {
      const text = held + chunk;
      const end = text.lastIndexOf("\n") + 1;
      held = text.slice(end);
      done(null, strip(text.slice(0, end)));
    },
    flush(done) {
      done(null, strip(held));
    },
  });
}

export function startShim(port, target, prefix) {
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const raw = Buffer.concat(parts);
      const body = prefixed(raw, prefix);
      const headers = { ...request.headers };
      if (raw.length > 0) headers["content-length"] = String(body.length);
      const named = headers["mcp-name"];
      if (named !== undefined && (NAMED.has(headers["mcp-method"]) || TASKS.has(headers["mcp-method"]))) headers["mcp-name"] = prefix + named;
      const upstream = http.request({ host: "127.0.0.1", port: target, path: request.url, method: request.method, headers }, (answer) => {
        const out = { ...answer.headers };
        delete out["content-length"];
        response.writeHead(answer.statusCode, out);
        response.flushHeaders();
        answer.setEncoding("utf8");
        answer.on("error", () => response.destroy());
        answer.pipe(stripping(prefix)).pipe(response);
      });
      upstream.on("error", () => response.destroy());
      response.on("close", () => upstream.destroy());
      upstream.end(body);
    });
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}
