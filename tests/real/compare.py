#!/usr/bin/env python3
"""Compares what real MCP servers answer directly, through `bouncer run` and through `bouncer gateway`.

    ./compare.py --bouncer ../../target/debug/bouncer              # thirty servers
    ./compare.py --bouncer ... --keep /tmp/servers git fetch       # these, installed where they stay
    ./compare.py --bouncer ... --all                               # all that are known

The servers, their versions and how they are started are those of `../fixtures/tools/update.py`: they are installed
from the npm or the Python registry without install scripts, and run with a throw-away HOME, credentials that open
nothing, and without a network where the kernel lets us. Asked are `tools/list`, `prompts/list`, `resources/list` and
`resources/templates/list`, with all pages, and a `ping`. No tool is called. What a server cannot list without its
account is not compared: the gateway lists what other servers have all the same. What a server answers differently when it is asked twice directly is not held against bouncer, and named.
By hand only: it takes minutes and needs the registries. Exit code 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("update", HERE.parent / "fixtures/tools/update.py")
update = importlib.util.module_from_spec(spec)
sys.modules["update"] = update
spec.loader.exec_module(update)

LISTS = {
    "tools": ("tools/list", "tools"),
    "prompts": ("prompts/list", "prompts"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
}
POLICY = {"version": 1, "packs": [], "heuristics": False, "rules": [{"tool": "*", "action": "allow"}]}


def answers(client: "update.Client", offered: dict | None) -> tuple[dict, dict]:
    """What the server says; and what it says that it can do."""
    hello = client.request("initialize", {"protocolVersion": update.PROTOCOL, "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}})
    client.send({"method": "notifications/initialized"})
    able = offered if offered is not None else hello["capabilities"]
    said: dict = {"ping": client.request("ping", {})}
    for name, (method, member) in LISTS.items():
        if ("resources" if name == "templates" else name) not in able:
            continue
        items, cursor = [], {}
        try:
            for _ in range(update.MAX_PAGES):
                page = client.request(method, cursor)
                items += page[member]
                if not page.get("nextCursor"):
                    break
                cursor = {"cursor": page["nextCursor"]}
            said[name] = items
        except update.Failed as error:
            said[name] = f"failed: {error}"
    return said, able


def plain(said: dict, prefix: str) -> dict:
    """Without the gateway's own names: what is left has to be the server's, byte for byte."""
    out = dict(said)
    for name in ("tools", "prompts"):
        if isinstance(out.get(name), list):
            items = [dict(item) for item in out[name]]
            for item in items:
                item["name"] = item["name"].removeprefix(prefix)
            out[name] = items
    return out


def compare(server: "update.Server", bouncer: Path, root: Path, sandbox: list[str]) -> str:
    command = update.install(server, root / "packages" / server.name)
    work = root / "work" / server.name

    def fill(text: str) -> str:
        return text.replace("$WORK", str(work))

    env = {"PATH": os.environ["PATH"], "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8"}
    env |= {name: fill(value) for name, value in server.env.items()}
    command = [*map(fill, command)]
    policy = root / f"{server.name}.json"
    policy.write_text(json.dumps(POLICY | {"servers": {"s": {"command": command[0], "args": command[1:]}}}))
    own = ["--policy", str(policy), "--audit", str(root / "audit.jsonl")]
    ways = {
        "directly": command,
        "again": command,
        "run": [str(bouncer), "run", *own, "--", *command],
        "gateway": [str(bouncer), "gateway", *own, "--wait-for-servers", "60"],
    }
    said, able = {}, None
    for way, how in ways.items():
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        for name, text in server.files.items():
            (work / name).write_text(fill(text))
        client = update.Client([*sandbox, *how], env, work, server.seconds)
        try:
            said[way], able = answers(client, able)
        finally:
            client.stop()
    said["gateway"] = plain(said["gateway"], "s__")
    fickle = [name for name, value in said["directly"].items() if value != said["again"].get(name) or isinstance(value, str)]
    for way in ("run", "gateway"):
        for name, wanted in said["directly"].items():
            got = said[way].get(name)
            if name not in fickle and got != wanted:
                raise AssertionError(f"through `{way}`, {name} is {json.dumps(got)[:300]}, and directly {json.dumps(wanted)[:300]}")
    counts = ", ".join(f"{len(said['directly'][name])} {name}" for name in LISTS if isinstance(said["directly"].get(name), list))
    return counts + (f"; not the same twice: {', '.join(fickle)}" if fickle else "")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares real servers directly and through bouncer.")
    parser.add_argument("names", nargs="*", help="servers; default: the first thirty")
    parser.add_argument("--bouncer", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="install into this folder and keep it")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    known = {server.name: server for server in [*update.SERVERS, *update.MORE]}
    chosen = [known[name] for name in options.names] or list(known.values())
    if not options.names and not options.all:
        chosen = chosen[:30]
    sandbox = update.without_network()
    print("servers run " + ("without a network" if sandbox else "WITH the network: no usable `unshare`"))
    same, wrong = 0, []
    with tempfile.TemporaryDirectory(prefix="real-") as temporary:
        root = options.keep.resolve() if options.keep else Path(temporary)
        root.mkdir(parents=True, exist_ok=True)
        for server in chosen:
            started = time.monotonic()
            try:
                told = compare(server, options.bouncer.resolve(), root, sandbox)
                same += 1
            except AssertionError as error:
                told = f"DIFFERS  {error}"
                wrong.append(server.name)
            except update.Failed as error:
                told = f"NOT CHECKED  {error}"
            print(f"{server.name:22} {told}  {time.monotonic() - started:5.1f} s", flush=True)
    print(f"{same} of {len(chosen)} servers answer the same through `run` and `gateway` as directly; {len(wrong)} do not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
