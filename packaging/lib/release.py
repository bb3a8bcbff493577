"""What goes into every package: the binary, its version, what it prints about itself, and the time.

Knows no package format.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

from . import elf
from .command import Refused, run

ROOT = Path(__file__).resolve().parents[2]
HOMEPAGE = "https://example.invalid/bouncer"
MAINTAINER = "the bouncer developers <bouncer@example.invalid>"
SHELLS = ("bash", "zsh", "fish")


@dataclasses.dataclass
class Release:
    """One release for one platform. `files` are the texts that all packages carry."""

    version: str
    summary: str
    licence: str
    homepage: str
    maintainer: str
    epoch: int
    binary: Path
    needs: elf.Needs
    manual: dict[str, bytes]
    completions: dict[str, bytes]
    out: Path
    scratch: Path
    notices: bytes = b""

    def text(self, name):
        """A file of the repository."""
        return (ROOT / name).read_bytes()


@contextlib.contextmanager
def prepare(options):
    """Builds or takes the binary, and asks it for its manual pages and completions."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    version = manifest["workspace"]["package"]["version"]
    given = options.binary or compiled()
    if not given.is_file():
        raise Refused(f"there is no binary at `{given}`")
    out = (options.out or ROOT / "target/packages").resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bouncer-packaging-") as scratch:
        scratch = Path(scratch)
        binary = scratch / "bouncer"
        shutil.copyfile(given, binary)
        binary.chmod(0o755)
        needs = elf.read(binary)
        if not options.no_strip:
            run(["strip", "--strip-all", binary])
        said = run([binary, "--version"]).decode().partition("\n")[0]
        if said != f"bouncer {version}":
            raise Refused(f"`{given}` says it is `{said}`, but Cargo.toml has version {version}")
        run([binary, "man", "--out", scratch / "man"])
        yield Release(
            version=version,
            summary=manifest["package"]["description"],
            licence=manifest["workspace"]["package"]["license"],
            homepage=options.homepage,
            maintainer=options.maintainer,
            epoch=epoch(),
            binary=binary,
            needs=needs,
            manual={page.name: page.read_bytes() for page in sorted((scratch / "man").iterdir())},
            completions={shell: run([binary, "completions", shell]) for shell in SHELLS},
            out=out,
            scratch=scratch,
        )


def compiled():
    """The release binary, built now."""
    print("building the binary (cargo build --release)", flush=True)
    done = subprocess.run(
        ["cargo", "build", "--release", "--locked", "--bin", "bouncer",
         "--message-format=json-render-diagnostics"],
        cwd=ROOT, stdout=subprocess.PIPE, check=False,
    )
    if done.returncode != 0:
        raise Refused("cargo could not build the binary")
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "bouncer":
            return Path(message["executable"])
    raise Refused("cargo built no binary")


def epoch():
    """The time that stands in packages, in seconds since 1970."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told is None:
        try:
            told = run(["git", "log", "-1", "--format=%ct"], cwd=ROOT).decode().strip()
        except Refused:
            raise Refused("no time to write into the packages: set SOURCE_DATE_EPOCH where there is no git") from None
    # The formats below cannot say earlier times (zip begins in 1980) or later ones (gzip ends in 2106).
    if not told.isdecimal() or not 315532800 <= int(told) < 2**32:
        raise Refused(f"SOURCE_DATE_EPOCH is `{told}`; it has to be seconds since 1970, from 315532800 on")
    return int(told)
