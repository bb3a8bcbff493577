"""The licences of the crates that are compiled into the binary, as their sources carry them."""

import hashlib
import json
from pathlib import Path

from . import release

NAMES = ("LICEN", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT")


def collect(ready):
    """One text: each crate with its licence, each licence text once."""
    said = json.loads(release.run(
        ["cargo", "metadata", "--format-version=1", "--locked",
         f"--filter-platform={ready.needs.target}"],
        cwd=release.ROOT,
    ))
    packages = {package["id"]: package for package in said["packages"]}
    texts, lines = {}, []
    for package in sorted(linked(said["resolve"], packages), key=lambda one: (one["name"], one["version"])):
        marks = []
        for path in licence_files(Path(package["manifest_path"]).parent):
            text = path.read_text(errors="replace").replace("\r\n", "\n").strip()
            key = hashlib.sha256(text.encode()).hexdigest()
            marks.append(texts.setdefault(key, (len(texts) + 1, text))[0])
        licence = package["license"] or package["license_file"] or "see text"
        where = ", ".join(f"[{mark}]" for mark in marks) or "no text in its sources"
        lines.append(f"{package['name']} {package['version']}: {licence}: {where}")
    body = [f"[{number}]\n\n{text}\n" for number, text in texts.values()]
    head = ("bouncer holds code of these crates. Behind each: its licence, and the texts in its sources, which follow.\n"
            "SQLite, which is in libsqlite3-sys, is in the public domain.\n")
    return "\n".join([head, *lines, "", *(f"{'-' * 72}\n{text}" for text in body)]).encode()


def linked(resolve, packages):
    """Crates that the binary is made of: no build scripts' and no tests' dependencies."""
    nodes = {node["id"]: node for node in resolve["nodes"]}
    seen, waiting = set(), [resolve["root"]]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        waiting += [
            dependency["pkg"]
            for dependency in nodes[one]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
    # The workspace's own crates have the licences of the package itself.
    return [packages[one] for one in seen if packages[one]["source"] is not None]


def licence_files(folder):
    """Licence files at the top of a crate's sources."""
    if not folder.is_dir():
        raise release.Refused(f"the sources in `{folder}` are not there; run `cargo fetch --locked`")
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMES))
