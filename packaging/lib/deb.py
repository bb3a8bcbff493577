"""The Debian package."""

import gzip
import hashlib
import os
from email.utils import formatdate

from . import release

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/bouncer",
    "zsh": "usr/share/zsh/vendor-completions/_bouncer",
    "fish": "usr/share/fish/vendor_completions.d/bouncer.fish",
}
DESCRIPTION = """\
 bouncer stands between an AI agent and its MCP tool servers and decides every
 tool call: allow, ask a human, or deny. Policies are compiled ahead of time into
 one plan; no model takes part in a decision. It records what tools returned, so
 that a destination that came out of a mail or a web page is denied.
"""


def make(ready):
    """`bouncer_VERSION_ARCH.deb`."""
    root = ready.scratch / "deb"
    files = content(ready)
    for name, data in files.items():
        put(root / name, data)
    (root / "usr/bin/bouncer").chmod(0o755)
    size = sum((len(data) + 1023) // 1024 for data in files.values())
    put(root / "DEBIAN/control", control(ready, size).encode())
    sums = [f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    put(root / "DEBIAN/md5sums", "".join(sums).encode())
    # Folders last: writing into one changes its time.
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            os.utime(os.path.join(folder, name), (ready.epoch, ready.epoch))
        os.chmod(folder, 0o755)
        os.utime(folder, (ready.epoch, ready.epoch))
    path = ready.out / f"bouncer_{ready.version}_{ready.needs.debian}.deb"
    # One thread: how xz cuts blocks depends on how many there are.
    release.run(
        ["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build", root, path],
        env=dict(os.environ, SOURCE_DATE_EPOCH=str(ready.epoch)),
    )
    return path


def put(path, data):
    """Writes a file, readable by all whatever the umask is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o644)


def content(ready):
    """What is installed, by its path."""
    doc = "usr/share/doc/bouncer"
    files = {
        "usr/bin/bouncer": ready.binary.read_bytes(),
        f"{doc}/copyright": copyright_file(ready),
        f"{doc}/changelog.gz": packed(changelog(ready), ready.epoch),
        f"{doc}/NEWS.md.gz": packed(ready.text("CHANGELOG.md"), ready.epoch),
        f"{doc}/README.md.gz": packed(ready.text("README.md"), ready.epoch),
        f"{doc}/THIRD-PARTY.txt.gz": packed(ready.notices, ready.epoch),
        f"{doc}/examples/policy.yaml": ready.text("examples/policy.yaml"),
    }
    for page, data in ready.manual.items():
        files[f"usr/share/man/man1/{page}.gz"] = packed(data, ready.epoch)
    for shell, data in ready.completions.items():
        files[COMPLETIONS[shell]] = data
    return files


def packed(data, epoch):
    """gzip, always the same."""
    return gzip.compress(data, 9, mtime=epoch)


def depends(ready):
    """`libc6 (>= 2.34), libgcc-s1 (>= 4.2)`, as the binary says."""
    return ", ".join(
        f"{package} (>= {'.'.join(map(str, trimmed(version)))})"
        for package, version in sorted(ready.needs.versions.items())
    )


def trimmed(version):
    """Without zeros at the end, as Debian's own symbol files have it: 4.2.0 is 4.2, but 3.0 stays."""
    while len(version) > 2 and version[-1] == 0:
        version = version[:-1]
    return version


def control(ready, size):
    """The control file."""
    return (
        "Package: bouncer\n"
        f"Version: {ready.version}\n"
        f"Architecture: {ready.needs.debian}\n"
        f"Maintainer: {ready.maintainer}\n"
        f"Installed-Size: {size}\n"
        f"Depends: {depends(ready)}\n"
        "Section: utils\n"
        "Priority: optional\n"
        f"Homepage: {ready.homepage}\n"
        f"Description: {synopsis(ready)}\n"
        f"{DESCRIPTION}"
    )


def synopsis(ready):
    """Debian wants no article in front."""
    return ready.summary.removeprefix("A ")


def changelog(ready):
    """Debian wants its own form; what changed stands in NEWS.md."""
    date = formatdate(ready.epoch)
    return (f"bouncer ({ready.version}) unstable; urgency=medium\n\n  * See NEWS.md.gz.\n\n"
            f" -- {ready.maintainer}  {date}\n").encode()


def copyright_file(ready):
    """Machine-readable, with the MIT licence in full and Debian's copy of the other."""
    mit = ready.text("LICENSE-MIT").decode().strip().splitlines()
    holder = next(line for line in mit if line.startswith("Copyright")).removeprefix("Copyright (c) ")
    body = "\n".join(f" {line}" if line else " ." for line in mit)
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: bouncer
Source: {ready.homepage}

Files: *
Copyright: {holder}
License: Expat or Apache-2.0
Comment: The program holds code of the crates in THIRD-PARTY.txt.gz, under the
 licences there.

License: Expat
{body}

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
""".encode()
