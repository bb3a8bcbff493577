"""The release archive."""

from . import tarball

COMPLETIONS = {"bash": "bouncer.bash", "zsh": "_bouncer", "fish": "bouncer.fish"}


def make(ready):
    """`bouncer-VERSION-TARGET.tar.gz`, with one folder of that name in it."""
    name = f"bouncer-{ready.version}-{ready.needs.target}"
    files = {
        "bouncer": (ready.binary, True),
        "THIRD-PARTY.txt": (ready.notices, False),
        "examples/policy.yaml": (ready.text("examples/policy.yaml"), False),
    }
    for text in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "SECURITY.md"):
        files[text] = (ready.text(text), False)
    for page, content in ready.manual.items():
        files[f"man/man1/{page}"] = (content, False)
    for shell, content in ready.completions.items():
        files[f"completions/{COMPLETIONS[shell]}"] = (content, False)
    path = ready.out / f"{name}.tar.gz"
    tarball.write(path, {f"{name}/{file}": what for file, what in files.items()}, ready.epoch)
    return path
