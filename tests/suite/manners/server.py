"""A server on standard streams that behaves as some real ones do. The first argument says how."""
import json, os, sys, time

HOW = sys.argv[1] if len(sys.argv) > 1 else "plain"
RAW = sys.stdout.buffer


def raw(line):
    RAW.write(line.encode() + b"\n")
    RAW.flush()


def say(message):
    raw(json.dumps(message))


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def result(asked, value):
    id = asked["id"]
    if HOW == "text-ids":
        id = str(id)
    answer = {"jsonrpc": "2.0", "id": id, "result": value}
    if HOW == "nulls":
        answer["error"] = None
    return answer


def text(words):
    return {"content": [{"type": "text", "text": words}]}


TOOLS = [{"name": n, "inputSchema": {"type": "object"}} for n in ("echo", "progress", "long", "slow")]
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}, "resources": {}},
    "serverInfo": {"name": HOW, "version": "1"},
    "instructions": "be gentle with " + HOW,
}


def introduce(asked):
    answer = json.dumps(result(asked, GREETING))
    if HOW == "pings":
        say({"jsonrpc": "2.0", "id": "are-you-there", "method": "ping"})
        pong = hear()
        assert pong["id"] == "are-you-there" and pong["result"] == {}, pong
    if HOW == "bom":
        answer = "\ufeff" + answer
    if HOW == "twice":
        answer = answer.replace('"result"', '"result": {}, "result"', 1)
    if HOW == "nan":
        answer = answer.replace('"version"', '"load": NaN, "version"', 1)
    if HOW == "too-long":
        answer = answer.replace("be gentle", "x" * (17 << 20), 1)
    if HOW == "chatty":
        print("Server started on stdio", flush=True)
    if HOW == "slow":
        time.sleep(3)
    raw(answer)


def call(asked):
    params = asked["params"]
    name = params["name"]
    token = params.get("_meta", {}).get("progressToken")

    def progress(token, at):
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": at}})

    if name == "progress":
        progress(token, 1)
        progress("somebody-else", 2)
        say(result(asked, text("done")))
        progress(token, 3)
        return
    if name == "slow":
        progress(token, 1)
        time.sleep(1)
        progress(token, 2)
        say(result(asked, text("done")))
        return
    if name == "long":
        say(result(asked, text("y" * (18 << 20))))
        return
    if name == "die":
        os._exit(3)
    words = {"given": params.get("arguments", "nothing"), "keys": sorted(params)}
    answer = result(asked, text(json.dumps(words, sort_keys=True)))
    if HOW.startswith("names:"):
        uri = "doc://" + "shared"
        answer["result"]["content"].append({"type": "resource_link", "uri": uri, "name": "x"})
    say(answer)


while True:
    asked = hear()
    method = asked.get("method")
    if method == "initialize":
        introduce(asked)
    elif method == "notifications/initialized":
        if HOW == "nulls":
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": None})
    elif method == "tools/list":
        tools = [dict(tool) for tool in TOOLS]
        if HOW.startswith("names:"):
            tools[0]["_meta"] = {"ui": {"resourceUri": "ui://page"}}
        say(result(asked, {"tools": tools}))
    elif method == "tools/call":
        call(asked)
    elif method == "resources/list":
        say(result(asked, {"resources": []}))
    elif method == "resources/templates/list":
        say(result(asked, {"resourceTemplates": []}))
    elif method == "resources/read":
        uri = asked["params"]["uri"]
        say(result(asked, {"contents": [{"uri": uri, "text": "of " + HOW}]}))
    elif method == "ping":
        say(result(asked, {}))
    elif "id" in asked and method:
        say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
