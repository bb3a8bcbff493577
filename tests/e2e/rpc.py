"""What the tests' own MCP servers share: JSON-RPC over standard input and output.

Needs nothing but Python. Every call and every notification that arrives is written to
the file named in `CALLS`, so that a test can tell what was forwarded.
"""

import json
import os
import sys


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def tool(name, description, properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema, **more}


NO_ANSWER = object()


def log(message):
    path = os.environ.get("CALLS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")


def serve(name, tools, call):
    """Serves until standard input ends.

    `tools()` lists the tools, `call(name, arguments)` gives a result, None for an
    unknown tool or NO_ANSWER.
    """
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        identifier, method = message.get("id"), message.get("method")
        params = message.get("params") or {}
        if method == "tools/call" or identifier is None:
            log(message)
        if identifier is None or method is None:
            continue
        if method == "initialize":
            answer = {
                "result": {
                    "protocolVersion": params.get("protocolVersion"),
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": name, "version": "1.0.0"},
                }
            }
        elif method == "ping":
            answer = {"result": {}}
        elif method == "tools/list":
            answer = {"result": {"tools": tools()}}
        elif method == "tools/call":
            result = call(params.get("name"), params.get("arguments") or {})
            if result is NO_ANSWER:
                continue
            unknown = {"code": -32602, "message": "unknown tool"}
            answer = {"error": unknown} if result is None else {"result": result}
        else:
            answer = {"error": {"code": -32601, "message": "method not found"}}
        send({"id": identifier, **answer})
