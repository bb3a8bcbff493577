#!/usr/bin/env python3
"""How long small calls of one agent take while another one reads large results through the same gateway.

    cargo build --release && benches/gateway/stall.py target/release/bouncer [OTHER ...]

A server over HTTP answers `read_page` with a text of 10 MB of words and addresses, and `read_note` with a few bytes. One agent
reads notes all the time; first alone, then beside one that reads pages and after each sends something, so that the decision
needs what was read. Prints the median, the 99th percentile and the slowest of the notes in
milliseconds, and pages a second.
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS = 6
SIZE = 10 << 20


def page(number: int) -> bytes:
    words = "The parcel of that customer was delivered in the evening, and the question about the invoice is answered. "
    rows = (f"{words}Write to user{number}x{n}@host{n % 977}.example. " for n in range(SIZE // (len(words) + 36)))
    return json.dumps({"content": [{"type": "text", "text": "".join(rows)}]}).encode()


PAGES = [page(number) for number in range(4)]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
TO = {"type": "object", "properties": {"to": {"type": "string"}}}
READS = {"readOnlyHint": True}
TOOLS = [
    {"name": "read_page", "description": "Reads a page.", "inputSchema": SCHEMA, "annotations": READS},
    {"name": "read_note", "description": "Reads a note.", "inputSchema": SCHEMA, "annotations": READS},
    {"name": "send_mail", "description": "Sends a mail.", "inputSchema": TO},
]


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet

    def do_POST(self):  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, result = asked.get("method"), b"{}"
        if method == "initialize":
            version = asked["params"]["protocolVersion"]
            result = json.dumps({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}).encode()
        elif method == "tools/list":
            result = json.dumps({"tools": TOOLS}).encode()
        elif method == "tools/call":
            params = asked["params"]
            large = params["name"] == "read_page"
            result = PAGES[params["arguments"]["n"] % len(PAGES)] if large else b'{"content":[{"type":"text","text":"a note"}]}'
        elif "id" not in asked:
            return self.answer(202, b"")
        self.answer(200, b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(asked["id"]).encode(), result))

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


class Agent:
    def __init__(self, port: int):
        self.to = http.client.HTTPConnection("127.0.0.1", port)
        self.head = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.number = 0
        start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        session = self.send("initialize", start)[0].getheader("mcp-session-id")
        self.head |= {"mcp-session-id": session, "mcp-protocol-version": "2025-06-18"}
        self.send("tools/list", {})

    def send(self, method: str, params: dict):
        self.number += 1
        self.to.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}), self.head)
        answer = self.to.getresponse()
        body = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method}: {answer.status} {body[:200].decode()}")
        return answer, body

    def call(self, tool: str, **arguments) -> bytes:
        return self.send("tools/call", {"name": tool, "arguments": arguments})[1]


def notes(port: int, seconds: float) -> list[float]:
    agent, taken, until = Agent(port), [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        agent.call("s__read_note", n=1)
        taken.append((time.perf_counter() - start) * 1000)
    return taken


# The agent with the large results is a process of its own: it would hold up the one that is timed.
READER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import stall
agent, until, pages = stall.Agent(int(sys.argv[2])), time.time() + float(sys.argv[3]), 0
while time.time() < until:
    agent.call("s__read_page", n=pages)
    agent.call("s__send_mail", to="nobody@nowhere.example")
    pages += 1
print(pages)
"""
SERVER = """
import sys
sys.path.insert(0, sys.argv[1])
import stall
server = stall.ThreadingHTTPServer(("127.0.0.1", 0), stall.Server)
print(server.server_port, flush=True)
server.serve_forever()
"""


def measure(bouncer: str, upstream: int) -> str:
    here = str(pathlib.Path(__file__).resolve().parent)
    with tempfile.TemporaryDirectory() as home:
        policy = pathlib.Path(home) / "policy.yaml"
        policy.write_text(f"version: 1\nservers:\n  s: {{ url: 'http://127.0.0.1:{upstream}/mcp' }}\n")
        command = [bouncer, "gateway", "--policy", str(policy), "--listen", "127.0.0.1:0"]
        started = subprocess.Popen(command, env=os.environ | {"HOME": home}, stderr=subprocess.PIPE, text=True)
        try:
            line = ""
            while "listening at" not in line:
                line = started.stderr.readline()
                if not line:
                    raise SystemExit(f"{bouncer} did not start")
            port = int(line.split("127.0.0.1:")[1].split("/")[0])
            threading.Thread(target=started.stderr.read, daemon=True).start()
            alone = notes(port, SECONDS / 3)
            reader = subprocess.Popen(["python3", "-c", READER, here, str(port), str(SECONDS)], stdout=subprocess.PIPE, text=True)
            time.sleep(0.5)
            beside = notes(port, SECONDS - 1)
            pages = int(reader.communicate()[0] or 0) / SECONDS
        finally:
            started.kill()
            started.wait()
    cell = lambda taken: f"{statistics.median(taken):.2f} | {sorted(taken)[int(len(taken) * 0.99)]:.2f} | {max(taken):.0f}"  # noqa: E731
    return f"{bouncer} | {cell(alone)} | {cell(beside)} | {pages:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bouncer", nargs="+", help="the binaries")
    options = parser.parse_args()
    here = str(pathlib.Path(__file__).resolve().parent)
    server = subprocess.Popen(["python3", "-c", SERVER, here], stdout=subprocess.PIPE, text=True)
    try:
        upstream = int(server.stdout.readline())
        print(f"load {os.getloadavg()[0]:.1f} | alone p50 | p99 | slowest | beside pages p50 | p99 | slowest | pages/s")
        for binary in options.bouncer:
            print(measure(binary, upstream))
    finally:
        server.kill()


if __name__ == "__main__":
    main()
