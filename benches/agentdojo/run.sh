#!/usr/bin/env bash
# Replays AgentDojo's tasks through the gate, without a model, and compares the figures with
# expected.json: fails if one got worse. Installs what it needs into target/agentdojo.
#
#   benches/agentdojo/run.sh BOUNCER [--update] [further options of score.py]
#
# AGENTDYN names a folder with AgentDyn's conversations (README.md), which are scored as well.
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
failed=0
"$python" "$here/score.py" "$work/traces" --bouncer "$bouncer" \
    --policies "$root/examples/agentdojo" --expected "$here/expected.json" "$@" || failed=1
if [ -n "${AGENTDYN:-}" ]; then
    printf '\nAgentDyn\n\n'
    rm -rf "$work/agentdyn"
    mkdir -p "$work/agentdyn"
    "$python" "$here/agentdyn.py" "$AGENTDYN" "$work/agentdyn/traces"
    "$python" "$here/score.py" "$work/agentdyn/traces" --bouncer "$bouncer" \
        --policies "$AGENTDYN/policies" --only defaults --only defaults_words --only policies \
        --only policies_words --expected "$here/expected-agentdyn.json" "$@" || failed=1
else
    printf '\nAgentDyn is not scored: AGENTDYN names no folder with it.\n'
fi
exit "$failed"
