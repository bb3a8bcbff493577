"""Writes AgentDyn's conversations as traces for score.py.

    python agentdyn.py CORPUS OUT

CORPUS holds `traces.jsonl`, one conversation a line (`suite`, `task`, `injection`, `prompt`,
`attack_from`, `steps`), and `tools.json`, the tools of each suite. The corpus is not part of
this repository (see README.md); each step became a call with its result, without a model.
"""

import json
import pathlib
import sys


def lines(conversation, tools):
    """The conversation's lines, and the line with which the attack begins."""
    servers = {}
    for step in conversation["steps"]:
        servers.setdefault(step["server"], None)
    out = [{"type": "tools", "server": server, "tools": tools} for server in servers]
    out.append({"type": "user", "content": conversation["prompt"]})
    begins = None
    for number, step in enumerate(conversation["steps"]):
        if number == conversation["attack_from"]:
            begins = len(out) + 1
        about = {"server": step["server"], "tool": step["tool"]}
        out.append({"type": "call", **about, "arguments": step["args"]})
        if step.get("result") is not None:
            out.append({"type": "result", **about, **step["result"]})
    return out, begins or len(out) + 1


def main():
    corpus, root = map(pathlib.Path, sys.argv[1:])
    tools = json.loads((corpus / "tools.json").read_text())
    index = {}
    for text in (corpus / "traces.jsonl").read_text().splitlines():
        conversation = json.loads(text)
        suite, task, injection = (conversation[key] for key in ("suite", "task", "injection"))
        written, begins = lines(conversation, tools[suite])
        name = f"{suite}/{task}{'.' + injection if injection else ''}.jsonl"
        (root / suite).mkdir(parents=True, exist_ok=True)
        (root / name).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in written))
        index[name] = {"suite": suite, "task": task}
        if injection:
            index[name] |= {"injection": injection, "attack_from": begins}
    (root / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    harmless = sum("injection" not in entry for entry in index.values())
    print(f"{harmless} harmless traces, {len(index) - harmless} attacked ones", file=sys.stderr)


if __name__ == "__main__":
    main()
