#!/usr/bin/env bash
# Replays AgentDojo's tasks through the gate, without a model, and compares the figures with
# expected.json: fails if one got worse. Installs what it needs into target/agentdojo.
#
#   benches/agentdojo/run.sh BOUNCER [--update] [further options of score.py]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
bouncer="${1:?name the binary to measure, such as target/release/bouncer}"
shift
work="$root/target/agentdojo"
python="$work/venv/bin/python"

if ! cmp -s "$here/requirements.txt" "$work/installed.txt"; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    pip() { "$python" -m pip --disable-pip-version-check --no-input "$@"; }
    pip install --quiet --no-deps --requirement "$here/requirements.txt"
    pip install --quiet --no-deps agentdojo==0.1.35
    # It asks for Python 3.12; the engine's own modules run on 3.11.
    pip install --quiet --no-deps --ignore-requires-python bouncer-core==0.1.4
    cp "$here/requirements.txt" "$work/installed.txt"
fi
rm -rf "$work/traces"
"$python" "$here/traces.py" "$work/traces"
exec "$python" "$here/score.py" "$work/traces" --bouncer "$bouncer" \
    --policies "$root/examples/agentdojo" --expected "$here/expected.json" "$@"
