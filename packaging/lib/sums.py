"""`SHA256SUMS`, in the form of `sha256sum`."""

import hashlib


def of(path):
    """A file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(folder, paths):
    """Over these files and nothing else that may lie there."""
    lines = [f"{of(path)}  {path.name}\n" for path in sorted(paths)]
    (folder / "SHA256SUMS").write_text("".join(lines))
