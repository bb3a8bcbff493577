"""The npm package: the binary, and a launcher that stands for it."""

import json

from . import release, tarball

NAME = "bouncer-gate"


def make(ready):
    """`bouncer-gate-VERSION-linux-CPU.tgz`."""
    manifest = {
        "name": NAME,
        "version": ready.version,
        "description": ready.summary,
        "license": ready.licence.replace("MIT OR Apache-2.0", "(MIT OR Apache-2.0)"),
        "homepage": ready.homepage,
        "bin": {"bouncer": "bin/bouncer.js"},
        "files": ["bin", "native", "man", "THIRD-PARTY.txt", "LICENSE-MIT", "LICENSE-APACHE"],
        "man": [f"./man/{page}" for page in sorted(ready.manual)],
        "os": ["linux"],
        "cpu": [ready.needs.node],
        "libc": ["glibc"],
        "engines": {"node": ">=18"},
    }
    files = {
        "package.json": (json.dumps(manifest, indent=2).encode() + b"\n", False),
        "bin/bouncer.js": ((release.ROOT / "packaging/npm/bouncer.js").read_bytes(), True),
        "native/bouncer": (ready.binary, True),
        "README.md": ((release.ROOT / "packaging/npm/README.md").read_bytes(), False),
        "THIRD-PARTY.txt": (ready.notices, False),
        "LICENSE-MIT": (ready.text("LICENSE-MIT"), False),
        "LICENSE-APACHE": (ready.text("LICENSE-APACHE"), False),
    }
    for page, data in ready.manual.items():
        files[f"man/{page}"] = (data, False)
    path = ready.out / f"{NAME}-{ready.version}-linux-{ready.needs.node}.tgz"
    tarball.write(path, {f"package/{name}": what for name, what in files.items()}, ready.epoch)
    return path
