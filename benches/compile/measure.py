#!/usr/bin/env python3
"""Measures compiling: time, peak memory, size of the plan; then loading, next to blake3.

    cargo build --release
    cargo build --release --manifest-path benches/peers/Cargo.toml --no-default-features --bin load
    python3 benches/compile/measure.py [BOUNCER…] [quick|large]

Peak memory is what the system says of the process (`ru_maxrss`), CPU time is that of all
its threads. Several programs take turns on each policy; plans of the last are loaded.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOAD = ROOT / "benches/peers/target/release/load"


def rules(n, tools, test):
    """Files of at most 25,000 rules each: a file may have eight megabytes."""
    head = "version: 1\npacks: []\nheuristics: false\nrules:\n"
    for first in range(0, n, 25_000):
        lines = [head]
        for i in range(first, min(first + 25_000, n)):
            tool = i % tools
            lines.append(
                f"- {{tool: server{tool // 10}__tool{tool}, action: deny, {test(i)}}}\n"
            )
        yield "".join(lines)


def regex(i):
    pattern = rf"(?i)^(drop|truncate|delete)\s+(table\s+)?tbl_{i}\b"
    return f"match: {{args.query: {{regex: '{pattern}'}}}}"


def found(i):
    return rf"match: {{args.query: {{regex: '\b(key|token)_{i}[a-z0-9]{{4,12}}\b'}}}}"


def plain(i):
    return [
        f"""when: 'args.query == "select secret_{i} from vault"'""",
        f"""when: 'args.query contains "forbidden_word_{i}_end"'""",
        f"""when: 'args.path starts_with "/srv/private/area{i}/"'""",
        f"""when: 'args.env == "prod{i}" and args.query contains "purge_{i}_now"'""",
    ][i % 4]


def mixed(i):
    return regex(i) if i % 2 else plain(i // 2)


def letters(i):
    """A word that has little in common with the next one."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    word = ""
    for _ in range(4):
        i = (i * 7919 + 104_729) % 1_000_003
        word += consonants[i % 14] + vowels[i // 14 % 5]
    return word


def word(i):
    return rf"match: {{args.query: {{regex: '(?i)\b{letters(i)} (?:project|team)\b'}}}}"


def secret(i):
    return f"match: {{args.query: {{regex: '(?i)key{i}[_-][0-9a-z]{{24}}'}}}}"


def kinds(i):
    return [
        rf"match: {{args.query: {{regex: '(?i)^(drop|delete)\s+(table\s+)?tbl_{i}\b'}}}}",
        f"""when: 'args.query contains "secret_{i}_"'""",
        f"""when: 'args.env == "prod{i}"'""",
        rf"match: {{args.query: {{regex: '\bgrant_{i}[a-z]*\b'}}}}",
    ][i % 4]


def destinations(n):
    items = "".join(f"    - person{i}@dept{i % 37}.corp.example\n" for i in range(n))
    yield "send:\n  exfiltrating: true\n  sink_params: [to]\n  trusted_destinations:\n" + items


CASES = [
    ("1,000 regexes over 100 tools", 1_000, lambda n: rules(n, n // 10, regex)),
    ("10,000 regexes over 1,000 tools", 10_000, lambda n: rules(n, n // 10, regex)),
    ("10,000 unanchored regexes over 1,000 tools", 10_000, lambda n: rules(n, n // 10, found)),
    ("10,000 text tests over 1,000 tools", 10_000, lambda n: rules(n, n // 10, plain)),
    ("1,000 regexes on one tool", 1_000, lambda n: rules(n, 1, regex)),
    ("1,000 unanchored regexes on one tool", 1_000, lambda n: rules(n, 1, found)),
    ("1,000 words on one tool", 1_000, lambda n: rules(n, 1, word)),
    ("1,000 secret shapes on one tool", 1_000, lambda n: rules(n, 1, secret)),
    ("10,000 rules of all kinds on one tool", 10_000, lambda n: rules(n, 1, kinds)),
    ("100,000 text tests over 10,000 tools", 100_000, lambda n: rules(n, n // 10, plain)),
    ("100,000 rules, half regexes, over 10,000 tools", 100_000, lambda n: rules(n, n // 10, mixed)),
    ("100,000 trusted destinations", 100_000, destinations),
]


def compile(bouncer, policies, plan):
    """What compiling says, and its wall time, CPU time and peak memory."""
    command = [bouncer, "compile", *policies, "-o", plan, "--no-packs", "--json"]
    since = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.monotonic() - since, usage.ru_utime + usage.ru_stime
    measured = f"{wall:.2f} s | {cpu:.2f} s | {usage.ru_maxrss / 1024:.0f} MiB"
    if process.returncode != 0:
        return f"fails: {(out + errors)[:200]} | {measured} | | |", None
    return measured, json.loads(out)["bytes"]


def automata(bouncer, plan):
    """How many automata a plan has, without those that only stand in for another."""
    shown = subprocess.run([bouncer, "inspect", plan, "--json"], capture_output=True, check=True)
    every = json.loads(shown.stdout)["automata"]
    return len(every) - sum(each["fallback"] is not None for each in every)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument not in ("quick", "large")]
    programs = [Path(argument) for argument in arguments] or [ROOT / "target/release/bouncer"]
    directory = ROOT / "target/compile-bench"
    directory.mkdir(parents=True, exist_ok=True)
    print("| policy | wall time | CPU time | peak memory | plan | bytes a rule | automata |")
    print("|---|---|---|---|---|---|---|")
    plans = []
    for name, n, make in CASES:
        if ("quick" in sys.argv and n > 10_000) or ("large" in sys.argv and n <= 10_000):
            continue
        stem = name.replace(",", "").replace(" ", "-")
        plan = directory / f"{stem}.plan"
        policies = []
        for at, text in enumerate(make(n)):
            policies.append(directory / f"{stem}-{at}.yaml")
            policies[-1].write_text(text)
        for program in programs:
            measured, size = compile(program, policies, plan)
            row = name if len(programs) == 1 else f"{name}, {program.name}"
            if size is None:
                print(f"| {row} | {measured}", flush=True)
                continue
            print(
                f"| {row} | {measured} | {size / 1e6:.2f} MB | {size / n:.0f} | {automata(program, plan)} |",
                flush=True,
            )
        plans.append(str(plan))
    print()
    subprocess.run([LOAD, *plans], check=True)


if __name__ == "__main__":
    main()
