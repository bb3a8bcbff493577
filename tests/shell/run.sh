#!/usr/bin/env bash
# What `bouncer hook` reads of a shell's text against what bash, dash and zsh start for it.
#
#   tests/shell/run.sh                       what CI runs: 2,000 texts along one path
#   tests/shell/run.sh --texts 200000 --seed 7
#
# Needs Debian's `bash`, `dash` and `zsh`, and Python 3.11. Where the system lets it, everything
# runs in a namespace without network and with folders of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
target="${CARGO_TARGET_DIR:-target}"

for shell in bash dash zsh; do
    if ! command -v "$shell" >/dev/null; then
        echo "tests/shell needs $shell: apt-get install bash dash zsh" >&2
        exit 1
    fi
done
cargo build --quiet --locked -p bouncer-hook --example shell_verdicts
arguments=("$@")
[ "$#" -gt 0 ] || arguments=(--texts 2000 --seed 1)
apart=(unshare --user --map-root-user --net --mount --pid --fork --kill-child)
if ! "${apart[@]}" true 2>/dev/null; then
    echo "no namespace can be had: the shells run beside everything else" >&2
    apart=()
fi
exec "${apart[@]}" python3 tests/shell/differential.py "$target/debug/examples/shell_verdicts" "${arguments[@]}"
