#!/usr/bin/env python3
"""Times bouncer's engine next to those of its two predecessors.

    benches/predecessors/install.sh
    cargo build --release --manifest-path benches/peers/Cargo.toml --no-default-features --bin worker
    python3 benches/predecessors/compare.py [quick] [WORDS OF A TITLE]

bouncer reads the very files that the predecessors read. Each engine runs in a process of
its own: it loads the policy, says the verdicts of all calls (which have to agree, otherwise
this aborts), and then works through the calls as often as it is told, in turns with the
others. Times are CPU time of the process; ratios are medians over the turns. The
predecessors get calls that are parsed already; bouncer gets the bytes of the arguments.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "target" / "predecessors"
PYTHON = [str(TARGET / "venv/bin/python"), str(HERE / "engine.py")]
NODE = ["node", str(HERE / "engine.mjs"), str(TARGET)]
BOUNCER = [str(HERE.parent / "peers/target/release/worker")]

TURN = 20e6  # nanoseconds


class Worker:
    """An engine in its own process."""

    def __init__(self, name, command, policy, calls):
        self.name = name
        self.process = subprocess.Popen(
            [*command, str(policy), str(calls)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = json.loads(self.process.stdout.readline())
        self.load, self.verdicts = hello["load"], hello["verdicts"]
        # Two turns to warm up (Node's compiler needs them) and to find the length.
        self.times = []
        self.passes = 1
        for _ in range(2):
            per_call = self.turn()
            passes = TURN / max(per_call, 1) / len(self.verdicts)
            self.passes = max(1, min(100_000, round(passes)))
        self.times.clear()

    def turn(self):
        self.process.stdin.write(f"{self.passes}\n")
        self.process.stdin.flush()
        self.times.append(float(self.process.stdout.readline()))
        return self.times[-1]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def yaml(value):
    """JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def rules(items):
    return "rules:\n" + "".join(f"- {yaml(item)}\n" for item in items)


def rule(tool, action, arg=None, **test):
    match = {"match": {f"args.{arg}": test}} if arg else {}
    return {"tool": tool, **match, "action": action}


def names(n, seed):
    """`n` different made-up names."""
    pick = random.Random(seed)
    found = {}
    while len(found) < n:
        syllables = (pick.choice("bdfgklmnprstvz") + pick.choice("aeiou") for _ in range(4))
        found["".join(syllables)] = None
    return list(found)


def whole(n):
    """One argument that has to match one of `n` patterns whole."""
    hosts = names(2 * n, 1)
    patterns = [rf"https://{host}\.example/v[0-9]+/[a-z0-9_/-]*" for host in hosts[:n]]
    contracts = {"fetch": {"arg_patterns": {"url": "|".join(patterns)}}}
    allow = [rule("fetch", "allow", "url", regex=f"^(?:{p})$") for p in patterns]
    pick = random.Random(1)
    calls = []
    for k in range(32):
        host = hosts[pick.randrange(n) + (0 if k % 2 else n)]
        url = f"https://{host}.example/v2/reports/region_eu-west/{k}"
        calls.append({"tool": "fetch", "args": {"url": url, "timeout": 30}})
    return yaml(contracts), rules([*allow, rule("fetch", "deny")]), calls


def inside(n):
    """One argument in which one of `n` patterns, which start alike, has to be found."""
    patterns = [rf"\bCHG{i:05}-[0-9]{{2}}\b" for i in range(n)]
    number = lambda i: f"CHG{i if i < n else i + 50_000:05}-07"
    return found(n, "", patterns, number)


def words(n):
    """The same, with patterns that start differently, in upper or lower case."""
    list_of = names(2 * n, 2)
    patterns = [rf"\b{word} (?:project|team)\b" for word in list_of[:n]]
    return found(n, "(?i)", patterns, lambda i: f"the {list_of[i].title()} Team")


def found(n, flags, patterns, text):
    joined = "|".join(patterns)
    contracts = {"commit": {"arg_patterns": {"message": f"{flags}(?s:.*)(?:{joined})(?s:.*)"}}}
    allow = [rule("commit", "allow", "message", regex=flags + p) for p in patterns]
    pick = random.Random(2)
    calls = []
    for k in range(32):
        name = text(pick.randrange(n) + (0 if k % 2 else n))
        message = (
            f"Raise the time-out of the report job to {k} minutes, because the export of "
            f"region eu-west takes longer since June. Approved under {name} by the board."
        )
        calls.append({"tool": "commit", "args": {"message": message, "sign": True}})
    return yaml(contracts), rules([*allow, rule("commit", "deny")]), calls


def destinations(n):
    """`n` trusted destinations: one contract, or a rule for each."""
    trusted = [f"person{i}@dept{i % 37}.corp.example" for i in range(n)]
    contract = {"exfiltrating": True, "sink_params": ["to"], "trusted_destinations": trusted}
    allow = [rule("send", "allow", "to", equals=address) for address in trusted]
    pick = random.Random(3)
    calls = []
    for k in range(32):
        to = pick.choice(trusted) if k % 2 else f"person{k}@elsewhere.example"
        calls.append({"tool": "send", "args": {"to": to, "body": "The report is attached."}})
    return yaml({"send": contract}), rules([*allow, rule("send", "ask")]), calls


def one_tool(n):
    """`n` rules of all kinds on one tool; contracts have no such thing."""
    kinds = [
        lambda i: rule("query", "deny", "sql", regex=rf"(?i)^(drop|delete)\s+(table\s+)?tbl_{i}\b"),
        lambda i: rule("query", "ask", "sql", contains=f"secret_{i}_"),
        lambda i: rule("query", "deny", "env", equals=f"prod{i}"),
        lambda i: rule("query", "deny", "sql", regex=rf"\bgrant_{i}[a-z]*\b"),
    ]
    items = [kinds[i % 4](i) for i in range(n)]
    pick = random.Random(4)
    calls = []
    for k in range(32):
        i = pick.randrange(n)
        sql = f"select id, name from customers_{i} where region = 'eu-west' order by id limit 50"
        env = "staging"
        if k % 2:
            hits = [f"DROP TABLE tbl_{i};", f"select secret_{i}_a from t", "", f"grant_{i}x to p"]
            sql = hits[i % 4] or sql
            env = f"prod{i}" if i % 4 == 2 else env
        calls.append({"tool": "query", "args": {"sql": sql, "env": env}})
    return None, rules(items), calls


def time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def compare(title, case, rounds, directory):
    contracts, rule_file, calls = case
    paths = {}
    texts = {"contracts.yaml": contracts, "rules.yaml": rule_file}
    texts["calls.jsonl"] = "\n".join(map(json.dumps, calls))
    for name, text in texts.items():
        if text is not None:
            paths[name] = directory / name
            paths[name].write_text(text)
    pairs = []
    if contracts is not None:
        pairs.append(("contracts.yaml", "bouncer-core 0.1.4 (Python)", PYTHON))
    pairs.append(("rules.yaml", "border-patrol-mcp 0.1.0 (Node)", NODE))
    workers = []
    for file, name, command in pairs:
        for who, run in ((f"bouncer, {file}", BOUNCER), (name, command)):
            workers.append(Worker(who, run, paths[file], paths["calls.jsonl"]))
    for worker in workers[1:]:
        for call, a, b in zip(calls, workers[0].verdicts, worker.verdicts):
            if a != b:
                sys.exit(f"{workers[0].name} says {a}, {worker.name} says {b}: {call}")
    for _ in range(rounds):
        for worker in workers:
            worker.turn()
    said = {verdict: workers[0].verdicts.count(verdict) for verdict in set(workers[0].verdicts)}
    words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(said.items()))
    print(f"### {title}\n\nAll agree on {len(calls)} calls: {words}.\n")
    print("| engine | load | decision | against bouncer on the same file |\n|---|---|---|---|")
    for at, worker in enumerate(workers):
        ours = workers[at - at % 2]
        ratio = median(a / b for a, b in zip(worker.times, ours.times))
        times = f"{ratio:.2g}x" if ratio < 10 else f"{ratio:,.0f}x"
        against = "" if ours is worker else f"{times} (load {worker.load / ours.load:.1f}x)"
        print(f"| {worker.name} | {time(worker.load)} | {time(median(worker.times))} | {against} |")
    print(flush=True)
    for worker in workers:
        worker.end()


def main():
    rounds = 5 if "quick" in sys.argv else 15
    cases = [
        ("1,000 patterns on one argument, whole value", whole(1_000)),
        ("1,000 patterns on one argument, found inside, all starting alike", inside(1_000)),
        ("1,000 patterns on one argument, found inside, any case", words(1_000)),
        ("10,000 trusted destinations", destinations(10_000)),
        ("10,000 rules on one tool", one_tool(10_000)),
    ]
    with tempfile.TemporaryDirectory() as directory:
        wanted = " ".join(word for word in sys.argv[1:] if word != "quick")
        for title, case in cases:
            if wanted not in title:
                continue
            compare(title, case, rounds, Path(directory))


if __name__ == "__main__":
    main()
