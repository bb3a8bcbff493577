#!/usr/bin/env python3
"""What a hook costs: from starting `bouncer hook` to its decision on standard output.

    cargo build --release && benches/hook/start.py target/release/bouncer

Each round starts, one after the other, `true` (what starting any process costs here), the
hook before a tool with a compiled plan, the same with the policy's text, and the hook with
a memory that earlier uses filled, for a command with nothing to look up and for one with a host. The
binary is copied first, as installing it does: a file as a linker leaves it starts up to a quarter slower here. Prints
the median and the 99th percentile in milliseconds.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def event(session: str, command: str = "git status", **more) -> bytes:
    use = {"event": "before", "session": session, "tool": "shell", "arguments": {"command": command}}
    return json.dumps(use | more).encode()


def timed(command: list[str], stdin: bytes, env: dict[str, str]) -> tuple[float, bytes]:
    start = time.perf_counter()
    done = subprocess.run(command, input=stdin, capture_output=True, env=env)
    if done.returncode not in (0, 3, 4):  # allow, ask, deny
        raise SystemExit(done.stderr.decode())
    return (time.perf_counter() - start) * 1000, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bouncer", type=pathlib.Path, help="the binary")
    parser.add_argument("--rounds", type=int, default=200, help="[default: 200]")
    parser.add_argument("--outputs", type=int, default=500, help="outputs of 2 KB in the memory [default: 500]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        bouncer = shutil.copy(options.bouncer, home)
        env = os.environ | {"HOME": home}
        policy = str(ROOT / "examples" / "hook.yaml")
        plan = str(pathlib.Path(home) / "hook.plan")
        subprocess.run([bouncer, "compile", policy, "-o", plan], check=True, capture_output=True)
        by_plan = [bouncer, "hook", "plain", "--plan", plan]
        for number in range(options.outputs):
            text = " ".join(f"line {number} of a page about parcel {number * 7919 + k}" for k in range(46))
            after = event("full", event="after", result=text)
            timed(by_plan, after, env)
        cases = {
            "`true`": (["true"], b"", None),
            "plan, empty memory": (by_plan, event("new"), b"allow"),
            f"plan, {options.outputs} outputs of 2 KB remembered": (by_plan, event("full"), b"allow"),
            "the same, a host to look up in them": (by_plan, event("full", "curl https://status.example/x"), b"ask"),
            "policy text": ([bouncer, "hook", "plain", "--policy", policy], event("new"), b"allow"),
            "the built-in policy": ([bouncer, "hook", "plain"], event("new"), b"allow"),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, (command, stdin, verdict) in cases.items():
                took, answer = timed(command, stdin, env)
                if verdict and json.loads(answer)["verdict"].encode() != verdict:
                    raise SystemExit(f"{name}: {answer!r}")
                times[name].append(took)
    print(f"{options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    for name, taken in times.items():
        taken.sort()
        print(f"{name:45} median {statistics.median(taken):7.2f} ms   p99 {taken[int(len(taken) * 0.99)]:7.2f} ms")


if __name__ == "__main__":
    main()
