"""The container file, as far as it can be looked at without an engine."""

import os
import re
import shutil
import subprocess

from lib import elf, release

from .common import Program, Refused, same

# glibc of Debian 12, which both stages are made of.
BASE = {"debian:bookworm-slim": (2, 36), "cc-debian12:nonroot": (2, 36)}
USER = 65532


def check(report, made, scratch, folder):
    """Text first, then its steps by hand."""
    report.check("image: runs as nobody, from bases that have the glibc, with files that the archive has",
                 instructions, folder)
    report.check("image: the step that unpacks works, and refuses a changed archive", unpacking, made, scratch)
    if os.geteuid() == 0 and folder is not None:
        report.check("image: as a user without rights, with nothing but glibc and libgcc around it, the program runs",
                     bare, made, scratch, folder)
    else:
        report.cannot("image: the program runs with nothing around it", "needs root, for chroot")
    engine = next((name for name in ("docker", "podman", "buildah") if shutil.which(name) and answers(name)), None)
    if engine:
        report.check(f"image: {engine} builds it", release.run,
                     [engine, "build", "-f", release.ROOT / "packaging/Containerfile", made.folder])
    else:
        report.cannot("image: builds", "no container engine that answers")


def answers(name):
    """Whether an engine is there, not only its command."""
    return subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0


def steps():
    """Instructions, with continued lines joined."""
    text = (release.ROOT / "packaging/Containerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [line.split(maxsplit=1) for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]


def instructions(folder):
    """What can be read off them."""
    said = steps()
    needed = elf.read(folder / "bouncer").glibc
    for _, image in (step for step in said if step[0] == "FROM"):
        known = [glibc for name, glibc in BASE.items() if name in image]
        if not known or known[0] < needed:
            raise Refused(f"`{image}` does not have glibc {needed}")
    last = [index for index, step in enumerate(said) if step[0] == "FROM"][-1]
    final = said[last:]
    same("the user", [rest for name, rest in final if name == "USER"], [f"{USER}:{USER}"])
    same("commands in the final image, which has no shell", [rest for name, rest in final if name == "RUN"], [])
    same("what starts", [rest for name, rest in final if name == "ENTRYPOINT"], ['["/usr/local/bin/bouncer"]'])
    for rest in (rest for name, rest in final if name == "COPY"):
        for path in re.findall(r"/out/(\S+)", rest):
            if path != "home/" and not (folder / path).exists():
                raise Refused(f"`{path}` is not in the archive")


def unpacking(made, scratch):
    """The step's own text, on other folders."""
    script = next(rest for name, rest in steps() if name == "RUN")
    root = scratch / "image"
    script = re.sub(r"(?<![\w./])/(in|out)\b", rf"{root}/\1", script)
    (root / "in").mkdir(parents=True)
    for name in ("SHA256SUMS", made.archive.name):
        shutil.copy(made.folder / name, root / "in")
    release.run(["sh", "-ec", script])
    if not os.access(root / "out/bouncer", os.X_OK) or not (root / "out/home/.bouncer").is_dir():
        raise Refused("the step did not unpack the archive")
    shutil.rmtree(root / "out")
    with (root / "in" / made.archive.name).open("ab") as file:
        file.write(b"\0")
    try:
        release.run(["sh", "-ec", script])
    except Refused:
        return
    raise Refused("the step took an archive that differs from its sum")


class Bare(Program):
    """A program inside of a root."""

    def inner(self):
        return "/usr/local/bin/bouncer"


def bare(made, scratch, folder):
    """A root with the loader, the libraries that the packages depend on, and the program: no shell, no /etc."""
    root = scratch / "bare"
    (root / "usr/local/bin").mkdir(parents=True)
    shutil.copy2(folder / "bouncer", root / "usr/local/bin/bouncer")
    said = release.run(["ldd", folder / "bouncer"]).decode()
    for path in re.findall(r"(/\S+) \(0x", said):
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, root / path.lstrip("/"))
    home = root / "home/nonroot"
    home.mkdir(parents=True)
    os.chown(home, USER, USER)
    for inside, _, _ in os.walk(root):
        os.chmod(inside, 0o755)
    scratch.chmod(0o755)

    def enter():
        os.chroot(root)
        os.chdir("/home/nonroot")
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)

    program = Bare(["/usr/local/bin/bouncer"], home, made.version, env={"HOME": "/home/nonroot"}, cwd="/",
                   preexec_fn=enter)
    program.exercise()
    log = home / ".bouncer/audit.jsonl"
    same("the owner of the audit log", log.stat().st_uid if log.exists() else None, USER)
