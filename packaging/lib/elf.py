"""What a binary needs of the system that it runs on, read from its dynamic section."""

import dataclasses
import os
import re

from . import command

# Machine as `objdump -f` says, then as Rust, Debian, Node and Python call it.
MACHINES = {
    "elf64-x86-64": ("x86_64-unknown-linux-gnu", "amd64", "x64", "x86_64"),
    "elf64-littleaarch64": ("aarch64-unknown-linux-gnu", "arm64", "arm64", "aarch64"),
}
# Where Debian has each library, and the lowest version that makes sense there.
LIBRARIES = {
    "libc.so.6": "libc6",
    "libm.so.6": "libc6",
    "libpthread.so.0": "libc6",
    "libdl.so.2": "libc6",
    "ld-linux-x86-64.so.2": "libc6",
    "ld-linux-aarch64.so.1": "libc6",
    "libgcc_s.so.1": "libgcc-s1",
}
# `libgcc-s1` of Debian says itself which versions of symbols belong to which version of the package;
# for all that Rust uses, the two are the same numbers.
FAMILIES = {"libc6": "GLIBC", "libgcc-s1": "GCC"}


@dataclasses.dataclass(frozen=True)
class Needs:
    """Names of the platform, and the lowest versions of libraries by their Debian package."""

    target: str
    debian: str
    node: str
    python: str
    versions: dict[str, tuple[int, ...]]

    @property
    def glibc(self):
        """The lowest glibc, such as `(2, 34)`."""
        return self.versions["libc6"]


def read(binary):
    """Reads it; refuses what is not for Linux with glibc."""
    environment = dict(os.environ, LC_ALL="C")
    said = command.run(["objdump", "-p", binary], env=environment).decode()
    machine = re.search(r"file format (\S+)", said)
    if machine is None or machine[1] not in MACHINES:
        raise command.Refused(f"`{binary}` is for {machine and machine[1]}; known are {', '.join(MACHINES)}")
    libraries = re.findall(r"^\s+NEEDED\s+(\S+)", said, re.M)
    unknown = [name for name in libraries if name not in LIBRARIES]
    if unknown:
        raise command.Refused(f"`{binary}` needs {', '.join(unknown)}, which no package here declares")
    if "libc.so.6" not in libraries:
        raise command.Refused(f"`{binary}` is not linked to glibc; the packages here are for glibc")
    versions = {}
    for package in {LIBRARIES[name] for name in libraries}:
        found = re.findall(rf"\b{FAMILIES[package]}_(\d+(?:\.\d+)+)\b", said)
        versions[package] = max(tuple(map(int, one.split("."))) for one in found)
    return Needs(*MACHINES[machine[1]], versions)
