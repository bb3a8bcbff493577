"""Runs what `bouncer hook` allows in real shells: no program may be started that the hook did not see.

    differential.py PROGRAM [--texts N] [--seed N] [--seconds N] [--text TEXT]

PROGRAM is the example `shell_verdicts`. Texts come from `texts.py`. Those that the hook allows, under a policy that objects to nothing, are
run by `bash`, `bash --posix`, bash as `sh`, `dash`, `zsh` and `sh` in a folder of their own, with `PATH` naming nothing but canaries, which
write down how they were called. Each has to be among the programs that the hook was going to ask the policy about, and with these words,
unless the hook said that they are known only when it runs. Exits with 1 if one is not.
"""
import argparse, collections, json, os, pathlib, select, shutil, signal, subprocess, sys, tempfile, time

from texts import Texts

POLICY = "version: 1\ndefaults: {onUnknown: allow}\ntools:\n  agent__shell: {}\n"
# A shell by the name under which it is started, and what it is given.
SHELLS = {"bash": ("bash", "bash", []), "bash --posix": ("bash", "bash", ["--posix"]), "bash as sh": ("bash", "sh", []), "dash": ("dash", "dash", []),
          "zsh": ("zsh", "zsh", ["-f"]), "sh": ("sh", "sh", [])}
CANARY = "#!{dash}\nprintf '%s\\0' \"${{0##*/}}\" \"$@\" '\x1e' >> {log}\n"


class Hook:
    def __init__(self, program, scratch):
        policy = scratch / "policy.yaml"
        policy.write_text(POLICY)
        self.process = subprocess.Popen([program, str(policy), str(scratch / "project"), str(scratch / "home")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, text):
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the program ended on {text!r}")
        return json.loads(line)


class Shells:
    def __init__(self, scratch):
        self.scratch, self.log = scratch, scratch / "log"
        self.bin, self.project = scratch / "bin", scratch / "project"
        for folder in (self.bin, self.project, scratch / "home"):
            folder.mkdir()
        canary = self.bin / "c0"
        canary.write_text(CANARY.format(dash=shutil.which("dash"), log=self.log))
        canary.chmod(0o755)
        for number in range(1, 30):
            os.link(canary, self.bin / f"c{number}")
        self.paths = {name: shutil.which(program) for name, (program, _, _) in SHELLS.items()}
        self.slow = self.calls = 0

    def started(self, name, text):
        """What a shell starts for a text: each canary's name and words."""
        self.log.write_text("")
        for entry in self.project.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for file in ("a", "b", "f"):
            (self.project / file).write_text("")
        _, called, flags = SHELLS[name]
        # Whoever is still running in the background holds the other end.
        here, there = os.pipe()
        shell = subprocess.Popen([called, *flags, "-c", text], executable=self.paths[name], cwd=self.project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env={"PATH": str(self.bin)}, start_new_session=True, pass_fds=(there,))
        os.close(there)
        if not select.select([here], [], [], 2)[0]:
            self.slow += 1
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.close(here)
        shell.wait()
        said = self.log.read_bytes().decode(errors="replace").split("\x1e\0")
        self.calls += len(said) - 1
        return [tuple(call.split("\0")[:-1]) for call in said[:-1]]


def unseen(said, calls):
    """The first call that the hook did not see."""
    seen = {program[0] for program in said["programs"]}
    for call in calls:
        if call[0] not in seen:
            return "not seen", call
    return None


def other_words(said, calls):
    """The first call with words that the hook did not see, of a program whose words it took for known."""
    words = collections.defaultdict(set)
    for program in said["programs"]:
        words[program[0]].add(tuple(program[1:]))
    for call in calls:
        name, got = call[0], call[1:]
        # What the hook looks up on the disk, and what zsh takes for a program's path.
        loose = any(any(c in word for c in "*?[~") or word.startswith("=") for known in words[name] for word in known)
        if name not in said["open"] and not loose and got not in words[name]:
            return "other words", call
    return None


def wrong(hook, shells, text, names, checks):
    said = hook.ask(text)
    if said["verdict"] != "allow":
        return None, said
    for name in names:
        calls = shells.started(name, text)
        for check in checks:
            if found := check(said, calls):
                return (name, *found), said
    return None, said


def smaller(hook, shells, text, found):
    """A shorter text with the same fault."""
    name, kind, _ = found
    check = unseen if kind == "not seen" else other_words
    size = max(1, len(text) // 2)
    while size:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size:]
            if wrong(hook, shells, shorter, [name], [check])[0]:
                text = shorter
            else:
                at += size
        size //= 2
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--faults", type=int, default=20, help="stop after so many")
    parser.add_argument("--text", help="only this one; prints what each shell starts")
    options = parser.parse_args()
    faults, count, begun = [], collections.Counter(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        shells = Shells(scratch)
        hook = Hook(os.path.abspath(options.program), scratch)
        if options.text is not None:
            print(json.dumps(hook.ask(options.text)))
            for name in SHELLS:
                print(f"{name}: {shells.started(name, options.text)}")
            return
        texts = Texts(options.seed)
        for _ in range(options.texts):
            if time.monotonic() - begun > options.seconds or len(faults) >= options.faults:
                break
            text = texts.text()
            if "\0" in text:
                continue
            found, said = wrong(hook, shells, text, list(SHELLS), [unseen, other_words])
            count["texts"] += 1
            count["allowed"] += said["verdict"] == "allow"
            count["programs"] += len(said["programs"]) if said["verdict"] == "allow" else 0
            if found:
                small = smaller(hook, shells, text, found)
                faults.append(small)
                print(f"{found[0]} {found[1]} {found[2]}:\n{small}\n    as {small!r}\n    of {text!r}", flush=True)
        hook.process.stdin.close()
        hook.process.wait()
    print(f"seed {options.seed}: {count['texts']} texts, {count['allowed']} allowed and run in {len(SHELLS)} shells ({count['programs']} programs seen in them, {shells.calls} started), "
          f"{shells.slow} ended after 2 s, {len(faults)} faults, {time.monotonic() - begun:.0f} s")
    sys.exit(bool(faults))


main()
