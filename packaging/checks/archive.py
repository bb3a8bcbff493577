"""The archive, its checksums, the manual pages and completions in it, and the formula for it."""

import re
import shutil
import subprocess
import tarfile

from lib import release, sums

from .common import Program, Refused, same


def check(report, made, scratch):
    """Unpacks the archive; gives back the program in it."""
    report.check("archive: `sha256sum --check` takes every file, and notices a changed byte", checksums, made, scratch)
    folder = report.check("archive: unpacks into one folder, owned by nobody of this machine", unpack, made, scratch)
    if folder is None:
        return None
    program = Program([folder / "bouncer"], scratch / "archive-home", made.version)
    report.check("archive: the program runs", program.exercise)
    report.check("archive: as many manual pages as commands, all licences", contents, folder)
    manual(report, folder)
    completions(report, folder, scratch)
    formula(report, made, folder)
    return program


def checksums(made, scratch):
    """`sha256sum` itself, since that is what people run."""
    copy = scratch / "sums"
    shutil.copytree(made.folder, copy)
    listed = {line.split("  ")[1] for line in (copy / "SHA256SUMS").read_text().splitlines()}
    same("the list of checksums", listed, {path.name for path in made.folder.iterdir()} - {"SHA256SUMS"})
    release.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=copy)
    damaged = copy / made.archive.name
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    done = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=copy, capture_output=True, check=False)
    same("the status of sha256sum for a changed archive", done.returncode, 1)


def unpack(made, scratch):
    """With tar, as people do; the owner and the order are read from the archive."""
    with tarfile.open(made.archive) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    top = made.archive.name.removesuffix(".tar.gz")
    same("the folders at the top", {name.split("/")[0] for name in names}, {top})
    same("owners", {(member.uid, member.gid, member.uname) for member in members}, {(0, 0, "root")})
    same("times", len({member.mtime for member in members}), 1)
    target = scratch / "archive"
    target.mkdir()
    release.run(["tar", "-xzf", made.archive, "-C", target])
    return target / top


def contents(folder):
    """What has to be in it, by looking at what the program says."""
    pages = {page.name for page in (folder / "man/man1").iterdir()}
    said = release.run([folder / "bouncer", "--help"]).decode()
    commands = re.findall(r"^  ([a-z]+) +\S", said.split("Usage:")[1].split("Options:")[0], re.M)
    if len(commands) < 20:
        raise Refused(f"the help lists {len(commands)} commands")
    missing = [name for name in commands if name != "help" and f"bouncer-{name}.1" not in pages]
    if missing or "bouncer.1" not in pages:
        raise Refused(f"no manual page for {missing or 'bouncer'}")
    notices = (folder / "THIRD-PARTY.txt").read_text()
    for crate in ("serde ", "tokio ", "libsqlite3-sys ", "Permission is hereby granted"):
        if crate not in notices:
            raise Refused(f"THIRD-PARTY.txt does not say `{crate}`")
    for name in ("README.md", "LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md", "SECURITY.md"):
        if not (folder / name).stat().st_size:
            raise Refused(f"{name} is empty")


def manual(report, folder):
    """Rendered by what `man` renders with, all warnings on."""
    pages = sorted((folder / "man/man1").iterdir())
    if shutil.which("groff"):
        report.check(f"archive: {len(pages)} manual pages render without a warning (groff)", groff, pages)
    else:
        report.cannot("archive: manual pages render", "no groff")
    if shutil.which("man"):
        report.check("archive: `man` shows them", shown, pages)
    else:
        report.cannot("archive: `man` shows them", "no man")


def groff(pages):
    """No output on standard error, and the page's name in the text."""
    for page in pages:
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-k", page], capture_output=True, check=False)
        if done.returncode or done.stderr:
            raise Refused(f"{page.name}: {done.stderr.decode(errors='replace').strip()[:400]}")
        if b"bouncer" not in done.stdout:
            raise Refused(f"{page.name} renders to nothing")


def shown(pages):
    """The first page, with man's own switch for warnings."""
    done = subprocess.run(["man", "--warnings", "-l", pages[0]], capture_output=True, check=False,
                          env={"PATH": "/usr/bin:/bin", "MANPAGER": "cat", "LANG": "C.UTF-8", "HOME": "/nonexistent"})
    if done.returncode or done.stderr or b"bouncer" not in done.stdout:
        raise Refused(f"{pages[0].name}: {done.stderr.decode(errors='replace').strip()[:400]}")


def completions(report, folder, scratch):
    """Syntax by each shell, and in bash also what it completes."""
    for shell, name in (("bash", "bouncer.bash"), ("zsh", "_bouncer"), ("fish", "bouncer.fish")):
        if shutil.which(shell):
            option = "--no-execute" if shell == "fish" else "-n"
            report.check(f"archive: completions are valid {shell}",
                         release.run, [shell, option, folder / "completions" / name])
        else:
            report.cannot(f"archive: completions are valid {shell}", f"no {shell}")
    if shutil.which("bash"):
        report.check("archive: bash completes `bouncer comp` to `compile` and `completions`", bash, folder, scratch)


def bash(folder, scratch):
    """Loads them and calls the function as readline would."""
    script = (f'source "{folder}/completions/bouncer.bash"\n'
              'COMP_WORDS=(bouncer comp); COMP_CWORD=1; COMPREPLY=()\n'
              'function=$(complete -p bouncer | sed "s/.*-F \\([^ ]*\\).*/\\1/")\n'
              '"$function" bouncer comp bouncer\nprintf "%s\\n" "${COMPREPLY[@]}"\n')
    said = release.run(["bash", "--norc", "-c", script], cwd=scratch).decode().split()
    same("what bash completes", sorted(said), ["compile", "completions"])


def formula(report, made, folder):
    """Its sum and its files; its syntax where there is Ruby."""
    report.check("formula: names the archive, its sum, and files that are in it", formula_names, made, folder)
    if shutil.which("ruby"):
        report.check("formula: valid Ruby", release.run, ["ruby", "-c", made.folder / "bouncer.rb"])
    else:
        report.cannot("formula: valid Ruby", "no ruby")
    report.cannot("formula: `brew install`", "no Homebrew")


def formula_names(made, folder):
    """Every path in `def install` is in the archive."""
    text = (made.folder / "bouncer.rb").read_text()
    same("the sum", re.search(r'sha256 "(\w+)"', text)[1], sums.of(made.archive))
    same("the address", re.search(r'url "(\S+)"', text)[1], f"https://downloads.example/v{made.version}/{made.archive.name}")
    install = text.split("def install")[1].split("  end")[0]
    paths = [path for path in re.findall(r'"([^"]+)"', re.sub(r'=> "[^"]+"', "", install))]
    if len(paths) < 8:
        raise Refused(f"only {len(paths)} paths found in the formula")
    for path in paths:
        if not list(folder.glob(path)):
            raise Refused(f"`{path}` is not in the archive")
