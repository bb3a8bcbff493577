#!/usr/bin/env bash
# Installs the two predecessors at pinned versions into target/predecessors.
# Needs Node 18 and Python 3.12 or newer: the newest on the path, or the one that PYTHON names.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
into="$here/../../target/predecessors"
mkdir -p "$into"
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; }
python=""
# A name on the path may be a shim of a version that is not there: each is tried.
for candidate in ${PYTHON:-python3.14 python3.13 python3.12 python3}; do
    if new_enough "$candidate"; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "install.sh: needs Python 3.12 or newer; PYTHON=/path/to/python names one" >&2; exit 1; }
"$python" -m venv --clear "$into/venv"
"$into/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
cp "$here/package.json" "$here/package-lock.json" "$into/"
(cd "$into" && npm ci --silent --no-audit --no-fund)
echo "installed into $into"
