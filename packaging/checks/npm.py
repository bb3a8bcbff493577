"""The npm package, installed by npm and run by npx, offline."""

import json
import os
import shutil
import tarfile

from lib import release

from .common import Program, Refused, passes_signals, same


def check(report, made, scratch, direct):
    """Needs npm and node."""
    if not (shutil.which("npm") and shutil.which("node")):
        report.cannot("npm: installs", "no npm")
        return
    prefix = scratch / "npm"
    if report.check("npm: `npm install -g` installs it without a network", install, made, prefix, scratch) is None:
        return
    program = Program([prefix / "bin/bouncer"], scratch / "npm-home", made.version)
    report.check("npm: the program runs through its launcher, with its exit codes and streams", program.exercise)
    if direct is not None:
        report.check("npm: the launcher ends by a signal as the program does, and leaves nothing behind",
                     passes_signals, direct, program)
    report.check("npm: `npx` runs it by the package's name", npx, made, scratch)
    report.check("npm: another platform is refused", refused, made, scratch)
    report.check("npm: `npm uninstall -g` takes it out", uninstall, prefix, scratch)


def npm(scratch, *arguments, **options):
    """npm with a cache and a configuration of its own, and no network."""
    environment = {**os.environ, "HOME": str(scratch / "npm-user"), "npm_config_cache": str(scratch / "npm-cache"),
                   "npm_config_offline": "true", "npm_config_update_notifier": "false"}
    (scratch / "npm-user").mkdir(exist_ok=True)
    return release.run([*arguments], env=environment, cwd=scratch, **options)


def install(made, prefix, scratch):
    """As an administrator would."""
    npm(scratch, "npm", "install", "-g", "--prefix", prefix, "--no-audit", "--no-fund", made.npm)
    if not (prefix / "share/man/man1/bouncer.1").exists():
        raise Refused("npm did not link the manual pages")
    return True


def npx(made, scratch):
    """A package with one program: npx finds it by the package's name."""
    said = npm(scratch, "npm", "exec", "--yes", "--", f"file:{made.npm}", "--version").decode()
    same("what npx says", said.strip(), f"bouncer {made.version}")


def refused(made, scratch):
    """The same package, said to be for another processor."""
    tree = scratch / "npm-other"
    with tarfile.open(made.npm) as tar:
        tar.extractall(tree, filter="data")
    path = tree / "package/package.json"
    manifest = json.loads(path.read_text())
    manifest["cpu"] = ["s390x"]
    path.write_text(json.dumps(manifest))
    release.run(["tar", "-czf", scratch / "other.tgz", "-C", tree, "package"])
    try:
        npm(scratch, "npm", "install", "-g", "--prefix", scratch / "npm-other-prefix", "--no-audit", "--no-fund",
            scratch / "other.tgz")
    except Refused as error:
        if "EBADPLATFORM" in str(error):
            return
        raise
    raise Refused("npm installed a package for s390x")


def uninstall(prefix, scratch):
    """And look."""
    npm(scratch, "npm", "uninstall", "-g", "--prefix", prefix, "bouncer-gate")
    if os.path.lexists(prefix / "bin/bouncer"):
        raise Refused("the program is still there")
