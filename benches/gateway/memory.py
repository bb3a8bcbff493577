#!/usr/bin/env python3
"""What an idle conversation weighs: private memory of `bouncer gateway --listen`, by conversations, servers and tools.

    cargo build --release && benches/gateway/memory.py target/release/bouncer [OTHER ...]

Starts a server over HTTP with made-up tools, and each gateway in front of it under several names. Opens conversations with
sessions, each of which lists the tools, in two steps; the growth of private pages from the first step to the second, by
conversation, is what one weighs. Prints a table; several binaries take turns.
"""

import argparse
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

FEW, MANY = 20, 120
CASES = [(1, 4), (5, 4), (1, 1000)]  # servers, tools of each


def tools(count: int) -> list[dict]:
    properties = {"to": {"type": "string", "description": "Who gets it"}, "body": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["to"]}
    text = "Sends something to somebody, and says what became of it. " * 3
    return [{"name": f"tool_{n}", "description": f"{text}{n}", "inputSchema": schema} for n in range(count)]


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet
    listed: list[dict] = []

    def do_POST(self):  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, answer = asked.get("method"), {}
        if method == "initialize":
            version = asked["params"]["protocolVersion"]
            answer = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        elif method == "tools/list":
            answer = {"tools": self.listed}
        elif "id" not in asked:
            return self.answer(202, b"")
        elif method != "ping":
            error = {"code": -32601, "message": "no such method"}
            return self.answer(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode())
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # noqa: N802
        self.answer(405, b"")

    do_DELETE = do_GET

    def log_message(self, *_):
        pass


def private(process: int) -> int:
    """Kilobytes of private pages."""
    rollup = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private"))


def converse(port: int) -> None:
    to = http.client.HTTPConnection("127.0.0.1", port)
    head = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}

    def send(message: dict) -> http.client.HTTPResponse:
        to.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | message), head)
        answer = to.getresponse()
        body = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{message['method']}: {answer.status} {body.decode()}")
        return answer

    session = send({"id": 1, "method": "initialize", "params": start}).getheader("mcp-session-id")
    head |= {"mcp-session-id": session, "mcp-protocol-version": "2025-06-18"}
    send({"method": "notifications/initialized"})
    send({"id": 2, "method": "tools/list"})
    to.close()


def weigh(bouncer: str, servers: int, upstream: int) -> float:
    """Kilobytes a conversation."""
    with tempfile.TemporaryDirectory() as home:
        policy = pathlib.Path(home) / "policy.yaml"
        rows = [f"  s{n}: {{ url: 'http://127.0.0.1:{upstream}/mcp' }}" for n in range(servers)]
        policy.write_text("version: 1\nservers:\n" + "\n".join(rows) + "\n")
        command = [bouncer, "gateway", "--policy", str(policy), "--listen", "127.0.0.1:0", "--max-conversations", "1000"]
        started = subprocess.Popen(command, env=os.environ | {"HOME": home}, stderr=subprocess.PIPE, text=True)
        try:
            port = 0
            while not port:
                line = started.stderr.readline()
                if not line:
                    raise SystemExit(f"{bouncer} did not start")
                if "127.0.0.1:" in line and "/mcp" in line and "http" in line:
                    port = int(line.split("127.0.0.1:")[1].split("/")[0])
                    port = 0 if port == upstream else port
            threading.Thread(target=started.stderr.read, daemon=True).start()
            at = []
            for count in (FEW, MANY - FEW):
                for _ in range(count):
                    converse(port)
                time.sleep(0.5)
                at.append(private(started.pid))
            return (at[1] - at[0]) / (MANY - FEW)
        finally:
            started.kill()
            started.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bouncer", nargs="+", help="the binaries")
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("KB a conversation | " + " | ".join(f"{servers} × {count} tools" for servers, count in CASES))
    weights: dict[str, list[float]] = {binary: [] for binary in options.bouncer}
    for servers, count in CASES:
        Server.listed = tools(count)
        for binary, taken in weights.items():
            taken.append(weigh(binary, servers, server.server_port))
    for binary, taken in weights.items():
        print(f"{binary} | " + " | ".join(f"{weight:.0f}" for weight in taken))


if __name__ == "__main__":
    main()
