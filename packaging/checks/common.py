"""How checks report, and what every installed program has to do, however it was installed."""

import json
import os
import signal
import subprocess
import sys
import time

from lib.release import ROOT, Refused

POLICY = "version: 1\npacks: []\ntools:\n  pay: { max_calls: 0 }\nrules:\n  - { tool: 'wipe', action: ask }\n"
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class Report:
    """Prints a line for each check. What this machine cannot check is said, and counted apart."""

    def __init__(self):
        self.held, self.failed, self.left = 0, [], []

    def check(self, name, function, *arguments):
        """Runs one check; gives back what it gives back, or None if it failed."""
        started = time.monotonic()
        try:
            result = function(*arguments)
        except (Refused, AssertionError, OSError, subprocess.TimeoutExpired) as error:
            self.failed.append(name)
            print(f"FAIL  {name}: {error}", flush=True)
            return None
        self.held += 1
        print(f"ok    {name} ({time.monotonic() - started:.1f} s)", flush=True)
        return result

    def cannot(self, name, why):
        """Says that something was not checked, and why."""
        self.left.append(name)
        print(f"n/a   {name}: {why}", flush=True)

    def close(self):
        """The exit status."""
        print(f"\n{self.held} hold, {len(self.failed)} failed, {len(self.left)} could not be checked on this machine")
        for name in self.failed:
            print(f"error: {name}", file=sys.stderr)
        return 1 if self.failed else 0


def same(what, got, wanted):
    """Fails with both values where they differ."""
    if got != wanted:
        raise Refused(f"{what} is {got!r}, not {wanted!r}")


class Program:
    """A command that should be bouncer, run in a folder of its own with a home of its own."""

    def __init__(self, command, folder, version, **popen):
        self.command = [str(part) for part in command]
        self.folder, self.version, self.popen = folder, version, popen
        folder.mkdir(parents=True, exist_ok=True)
        environment = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        self.popen.setdefault("env", {**environment, "HOME": str(folder)})
        self.popen.setdefault("cwd", folder)

    def write(self, name, text):
        """A file for the program, readable by whoever it runs as."""
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o644)

    def start(self, *arguments):
        """Starts it with pipes."""
        return subprocess.Popen([*self.command, *map(str, arguments)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.popen)

    def run(self, *arguments, given=b"", status=0):
        """Runs it to its end, which has to have this status."""
        process = self.start(*arguments)
        out, err = process.communicate(given, timeout=60)
        if process.returncode != status:
            raise Refused(f"`bouncer {' '.join(map(str, arguments))}` ended with {process.returncode}, not {status}: "
                          f"{err.decode(errors='replace').strip()}")
        return out.decode()

    def exercise(self):
        """Version, a compiled policy, the exit codes, and the protocol both ways."""
        same("the version", self.run("--version").strip(), f"bouncer {self.version}")
        self.write("example.yaml", (ROOT / "examples/policy.yaml").read_text())
        self.run("compile", "example.yaml", "-o", "example.plan")
        if not (self.folder / "example.plan").stat().st_size:
            raise Refused("the plan is empty")
        self.write("policy.yaml", POLICY)
        for tool, status in (("look", 0), ("wipe", 3), ("pay", 4)):
            self.run("check", "--policy", "policy.yaml", "--tool", tool, status=status)
        self.run("no-such-command", status=2)
        self.talk("serve")
        self.talk("run", "--policy", "policy.yaml", "--server", "self", "--", self.inner(), "serve")

    def inner(self):
        """The program as it is called from inside of where it runs."""
        return self.command[-1]

    def talk(self, *arguments):
        """One introduction and one list, on standard input and output, and nothing else there."""
        given = "".join(json.dumps(message) + "\n" for message in (HELLO, READY, LIST)).encode()
        process = self.start(*arguments)
        process.stdin.write(given)
        process.stdin.flush()
        answers = {}
        for _ in range(2):
            line = process.stdout.readline()
            if not line:
                raise Refused(f"`bouncer {' '.join(map(str, arguments))}` did not answer: "
                              f"{process.stderr.read().decode(errors='replace').strip()}")
            message = json.loads(line)
            answers[message.get("id")] = message
        out, _ = process.communicate(timeout=30)
        same("what comes after the answers", out, b"")
        same("the status at the end of the input", process.returncode, 0)
        if not answers[1]["result"]["serverInfo"]["name"] or len(answers[2]["result"]["tools"]) < 4:
            raise Refused(f"answers are not those of `bouncer serve`: {answers}")

    def end_by(self, number, *arguments):
        """How it ends when it gets a signal while it serves, and whether anything is left running."""
        process = self.start(*arguments)
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        family = descendants(process.pid)
        process.send_signal(number)
        # The input stays open: only the signal may end it.
        status = process.wait(timeout=30)
        for _ in range(50):
            left = [one for one in family if alive(one)]
            if not left:
                break
            time.sleep(0.1)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        if left:
            for one in left:
                os.kill(one, signal.SIGKILL)
            raise Refused(f"{number.name} ended the launcher, and left {len(left)} processes running")
        return status


def descendants(parent):
    """All processes below one, by /proc."""
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        children = [int(one) for one in file.read().split()]
    return children + [below for child in children for below in descendants(child)]


def alive(process):
    """Running, and not only waiting to be collected."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def passes_signals(direct, launched):
    """A launcher ends as the program itself does."""
    before = ("run", "--policy", "policy.yaml", "--server", "self", "--")
    launched.write("policy.yaml", POLICY)
    direct.write("policy.yaml", POLICY)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        same(f"the status of `serve` after {number.name}",
             launched.end_by(number, "serve"), direct.end_by(number, "serve"))
    for number in (signal.SIGTERM, signal.SIGINT):
        same(f"the status of `run` after {number.name}",
             launched.end_by(number, *before, launched.command[-1], "serve"),
             direct.end_by(number, *before, direct.command[-1], "serve"))
