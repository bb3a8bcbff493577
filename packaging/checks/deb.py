"""The Debian package, installed by dpkg into a root of its own, and what the image's base would offer."""

import gzip
import os
import re
import shutil

from lib import release

from .common import Program, Refused, same


def check(report, made, scratch):
    """Where there is no dpkg, there is nothing to install with."""
    if not shutil.which("dpkg"):
        report.cannot("deb: installs", "no dpkg")
        return
    root = scratch / "root"
    if report.check("deb: dpkg installs it; this machine has what it depends on", install, made, root) is None:
        return
    program = Program([root / "usr/bin/bouncer"], scratch / "deb-home", made.version)
    report.check("deb: the program runs", program.exercise)
    report.check("deb: files are in place, and are what `md5sums` says", places, root)
    if shutil.which("dpkg-shlibdeps"):
        report.check("deb: dpkg-shlibdeps finds the same dependencies", shlibdeps, made, root, scratch)
    else:
        report.cannot("deb: dpkg-shlibdeps finds the same dependencies", "no dpkg-dev")
    if shutil.which("lintian"):
        report.check("deb: lintian finds no error", release.run, ["lintian", "--fail-on", "error", made.deb])
    else:
        report.cannot("deb: lintian finds no error", "no lintian")
    report.check("deb: a wish for a newer glibc would be refused", refused, made, scratch)
    report.check("deb: dpkg takes it out again without a trace", remove, root)


def dpkg(root, *arguments):
    """dpkg on that root; its log too."""
    return release.run(["dpkg", f"--root={root}", f"--log={root}/dpkg.log", "--force-not-root", "--no-triggers", *arguments],
                       env={**os.environ, "LC_ALL": "C"})


def empty_root(root):
    """A root whose list of installed packages is this machine's, so that dependencies are really checked."""
    admin = root / "var/lib/dpkg"
    for name in ("info", "updates", "triggers"):
        (admin / name).mkdir(parents=True)
    shutil.copy("/var/lib/dpkg/status", admin / "status")
    shutil.copy("/var/lib/dpkg/arch", admin / "arch") if os.path.exists("/var/lib/dpkg/arch") else None


def install(made, root):
    """No `--force-depends`."""
    empty_root(root)
    dpkg(root, "--install", made.deb)
    said = dpkg(root, "--status", "bouncer").decode()
    if "Status: install ok installed" not in said or f"Version: {made.version}" not in said:
        raise Refused(f"dpkg says {said}")
    return True


def places(root):
    """Pages where man looks, completions where shells look."""
    release.run(["dpkg", f"--root={root}", "--verify", "bouncer"])
    pages = list((root / "usr/share/man/man1").glob("bouncer*.1.gz"))
    if len(pages) < 30 or not gzip.decompress(pages[0].read_bytes()):
        raise Refused(f"{len(pages)} manual pages")
    for name in ("bash-completion/completions/bouncer", "zsh/vendor-completions/_bouncer",
                 "fish/vendor_completions.d/bouncer.fish", "doc/bouncer/copyright", "doc/bouncer/THIRD-PARTY.txt.gz"):
        if not (root / "usr/share" / name).is_file():
            raise Refused(f"`{name}` is missing")
    for folder, _, names in os.walk(root / "usr"):
        for name in names:
            path = os.path.join(folder, name)
            status = os.stat(path)
            wanted = 0o755 if name == "bouncer" and folder.endswith("/bin") else 0o644
            if status.st_mode & 0o7777 != wanted:
                raise Refused(f"`{path}` has mode {status.st_mode & 0o7777:o}")


def fields(package):
    """Control fields."""
    return release.run(["dpkg-deb", "--field", package, "Depends"]).decode().strip()


def shlibdeps(made, root, scratch):
    """Debian's own tool, with the symbol files of this machine: never stricter than what the package asks for."""
    folder = scratch / "shlibdeps"
    (folder / "debian").mkdir(parents=True)
    (folder / "debian/control").write_text("Source: bouncer\n\nPackage: bouncer\nArchitecture: any\n")
    said = release.run(["dpkg-shlibdeps", "-O", "--ignore-missing-info", root / "usr/bin/bouncer"], cwd=folder).decode()
    same("dependencies", fields(made.deb), said.strip().removeprefix("shlibs:Depends="))


def refused(made, scratch):
    """The same package with another dependency must not go in, or the check above proves nothing."""
    tree, root, package = scratch / "newer", scratch / "newer-root", scratch / "newer.deb"
    release.run(["dpkg-deb", "--raw-extract", made.deb, tree])
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"libc6 \(>= [\d.]+\)", "libc6 (>= 99)", control.read_text()))
    release.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, package])
    empty_root(root)
    try:
        dpkg(root, "--install", package)
    except Refused as error:
        if "libc6" in str(error):
            return
        raise
    raise Refused("dpkg installed a package that wants libc6 99")


def remove(root):
    """Purge, and look."""
    dpkg(root, "--purge", "bouncer")
    left = [os.path.join(folder, name) for folder, _, names in os.walk(root / "usr") for name in names]
    same("files that are left", left, [])
