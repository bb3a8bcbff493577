"""Tar archives that are the same bytes for the same files: sorted, one time, owned by nobody."""

import gzip
import io
import tarfile


def write(path, files, epoch):
    """`files` are names with bytes or a path, and whether they are programs."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        folders = set()
        for name, (content, program) in sorted(files.items()):
            parts = name.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                folder = "/".join(parts[:depth])
                if folder not in folders:
                    folders.add(folder)
                    tar.addfile(entry(folder, epoch, 0o755, tarfile.DIRTYPE))
            if not isinstance(content, bytes):
                content = content.read_bytes()
            member = entry(name, epoch, 0o755 if program else 0o644, tarfile.REGTYPE)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    with path.open("wb") as raw, gzip.GzipFile(
        filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=epoch
    ) as packed:
        packed.write(body.getvalue())


def entry(name, epoch, mode, kind):
    """One member, without anything of this machine in it."""
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.mtime = kind, mode, epoch
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
