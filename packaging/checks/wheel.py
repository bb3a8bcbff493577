"""The wheel, installed by pip without an index, and by uv where there is one."""

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile

from lib import release

from .common import Program, Refused, passes_signals, same


def check(report, made, scratch, direct):
    """pip comes with Python's own `venv`."""
    report.check("wheel: RECORD names every file with its hash and size", record, made)
    report.check("wheel: its name asks for the glibc that the program needs", tag, made)
    venv = scratch / "venv"
    if report.check("wheel: `pip install --no-index` installs it", install, made, venv) is None:
        return
    program = Program([venv / "bin/bouncer"], scratch / "wheel-home", made.version)
    report.check("wheel: the program runs", program.exercise)
    alias = Program([venv / "bin/bouncer-gate"], scratch / "alias-home", made.version)
    report.check("wheel: it also runs as `bouncer-gate`", alias.exercise)
    if direct is not None:
        report.check("wheel: `bouncer-gate` ends by a signal as the program does", passes_signals, direct, alias)
    report.check("wheel: `pip uninstall` takes it out", uninstall, venv)
    if shutil.which("uv"):
        report.check("wheel: `uvx bouncer-gate` runs it", uvx, made, scratch)
    else:
        report.cannot("wheel: `uvx bouncer-gate` runs it", "no uv")


def record(made):
    """pip does not check these on installation; others do."""
    with zipfile.ZipFile(made.wheel) as wheel:
        names = wheel.namelist()
        listed = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(wheel.read(listed).decode())))
        same("the names in RECORD", sorted(row[0] for row in rows), sorted(names))
        for name, digest, size in rows:
            if name == listed:
                same("RECORD's own line", (digest, size), ("", ""))
                continue
            content = wheel.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            same(f"the hash of {name}", digest, f"sha256={wanted}")
            same(f"the size of {name}", int(size), len(content))


def tag(made):
    """Read from the program in the wheel, by another tool than the one that made the name."""
    with zipfile.ZipFile(made.wheel) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("/scripts/bouncer"))
        program = wheel.read(name)
    wanted = max(tuple(map(int, found)) for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", program))
    asked = re.search(r"manylinux_(\d+)_(\d+)_", made.wheel.name)
    same("the glibc in the name", tuple(map(int, asked.groups())), wanted)


def pip(venv, *arguments):
    """The environment's pip, without anybody's configuration."""
    return release.run([venv / "bin/python", "-m", "pip", "--isolated", "--disable-pip-version-check", *arguments],
                       env={**os.environ, "PIP_CONFIG_FILE": os.devnull}).decode()


def install(made, venv):
    """A fresh environment."""
    release.run([sys.executable, "-m", "venv", venv])
    pip(venv, "install", "--no-index", made.wheel)
    said = pip(venv, "show", "--files", "bouncer-gate")
    if f"Version: {made.version}" not in said or "bin/bouncer" not in said:
        raise Refused(f"pip says {said}")
    if not (venv / "share/man/man1/bouncer.1").is_file():
        raise Refused("the manual pages are not in the environment")
    return True


def uninstall(venv):
    """And look."""
    pip(venv, "uninstall", "--yes", "bouncer-gate")
    left = [str(path) for path in venv.rglob("*bouncer*")]
    same("files that are left", left, [])


def uvx(made, scratch):
    """By the package's name alone, from a folder of wheels."""
    done = subprocess.run(
        ["uv", "--no-config", "--offline", "tool", "run", "--no-index", "--find-links", made.folder,
         "--python", sys.executable, "bouncer-gate", "--version"],
        capture_output=True, check=False, cwd=scratch,
        env={**os.environ, "UV_CACHE_DIR": str(scratch / "uv"), "HOME": str(scratch)},
    )
    same("what uvx says", (done.returncode, done.stdout.decode().strip(), ), (0, f"bouncer {made.version}"))
