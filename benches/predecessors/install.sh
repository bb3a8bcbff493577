#!/usr/bin/env bash
# Installs the two predecessors at pinned versions into target/predecessors.
# Needs Node 18 and Python 3.12 or newer (PYTHON names another one).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
into="$here/../../target/predecessors"
mkdir -p "$into"
"${PYTHON:-python3}" -m venv "$into/venv"
"$into/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
cp "$here/package.json" "$here/package-lock.json" "$into/"
(cd "$into" && npm ci --silent --no-audit --no-fund)
echo "installed into $into"
