"""The Python wheel. It holds no Python module: the binary is one of its scripts."""

import base64
import hashlib
import time
import zipfile

from . import deb, release

NAME = "bouncer_gate"
# `uvx bouncer-gate` runs the program that is called as the package is. It becomes the real one.
ALIAS = b"""\
#!python
import os
import sys

program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bouncer")
os.execv(program, [program, *sys.argv[1:]])
"""


def make(ready):
    """`bouncer_gate-VERSION-py3-none-manylinux_2_34_x86_64.whl`."""
    glibc = "_".join(map(str, ready.needs.glibc[:2]))
    tag = f"py3-none-manylinux_{glibc}_{ready.needs.python}"
    data, info = f"{NAME}-{ready.version}.data", f"{NAME}-{ready.version}.dist-info"
    files = {
        f"{data}/scripts/bouncer": (ready.binary.read_bytes(), True),
        f"{data}/scripts/bouncer-gate": (ALIAS, True),
        f"{info}/METADATA": (metadata(ready), False),
        f"{info}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: bouncer packaging\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
                          False),
        f"{info}/licenses/THIRD-PARTY.txt": (ready.notices, False),
        f"{info}/licenses/LICENSE-MIT": (ready.text("LICENSE-MIT"), False),
        f"{info}/licenses/LICENSE-APACHE": (ready.text("LICENSE-APACHE"), False),
    }
    # `data` is unpacked over the environment: beside the program, as in a system.
    for page, text in ready.manual.items():
        files[f"{data}/data/share/man/man1/{page}"] = (text, False)
    for shell, text in ready.completions.items():
        place = deb.COMPLETIONS[shell].removeprefix("usr/").replace("vendor-completions", "site-functions")
        files[f"{data}/data/{place}"] = (text, False)
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, (content, _) in sorted(files.items())]
    path = ready.out / f"{NAME}-{ready.version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        # The record goes last, as the format recommends for the folder that holds it.
        for name, (content, program) in sorted(files.items()):
            add(wheel, name, content, program, ready.epoch)
        add(wheel, record, f"{''.join(lines)}{record},,\n".encode(), False, ready.epoch)
    return path


def add(wheel, name, content, program, epoch):
    """One member, with nothing of this machine in it."""
    member = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
    member.create_system = 3
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = (0o100755 if program else 0o100644) << 16
    wheel.writestr(member, content)


def digest(content):
    """As RECORD has it: urlsafe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def metadata(ready):
    """Core metadata."""
    head = (
        "Metadata-Version: 2.4\n"
        "Name: bouncer-gate\n"
        f"Version: {ready.version}\n"
        f"Summary: {ready.summary}\n"
        f"Project-URL: Homepage, {ready.homepage}\n"
        f"License-Expression: {ready.licence}\n"
        "License-File: LICENSE-APACHE\n"
        "License-File: LICENSE-MIT\n"
        "License-File: THIRD-PARTY.txt\n"
        "Requires-Python: >=3.8\n"
        "Description-Content-Type: text/markdown\n\n"
    )
    return head.encode() + (release.ROOT / "packaging/wheel/README.md").read_bytes()
