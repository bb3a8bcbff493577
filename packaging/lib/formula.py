"""The Homebrew formula, which installs the release archive."""

from . import release, sums

TEMPLATE = """\
class Bouncer < Formula
  desc "{summary}"
  homepage "{homepage}"
  url "{url}"
  version "{version}"
  sha256 "{sha256}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :{arch}
  depends_on :linux

  def install
    bin.install "bouncer"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/bouncer.bash" => "bouncer"
    zsh_completion.install "completions/_bouncer"
    fish_completion.install "completions/bouncer.fish"
    doc.install "README.md", "CHANGELOG.md", "SECURITY.md", "THIRD-PARTY.txt", "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/bouncer --version")
    (testpath/"policy.yaml").write "version: 1\\ntools:\\n  pay: {{ max_calls: 0 }}\\n"
    assert_match "budget", shell_output("#{{bin}}/bouncer check --policy policy.yaml --tool pay", 4)
  end
end
"""


def make(ready, archive, url):
    """`bouncer.rb`."""
    url = url or f"{release.HOMEPAGE}/releases/v{{version}}"
    if "{archive}" not in url:
        url = f"{url.rstrip('/')}/{{archive}}"
    url = url.replace("{version}", ready.version).replace("{archive}", archive.name)
    for text in (url, ready.summary, ready.homepage):
        if any(sign in text for sign in '"\\#\n'):
            raise release.Refused(f"`{text}` cannot stand in the formula")
    path = ready.out / "bouncer.rb"
    path.write_text(TEMPLATE.format(
        summary=ready.summary.removeprefix("A "), homepage=ready.homepage, url=url, version=ready.version,
        sha256=sums.of(archive), arch={"x64": "x86_64", "arm64": "arm64"}[ready.needs.node],
    ))
    return path
