#!/usr/bin/env bash
# Tests of the SQL views against real servers: SQLite, PostgreSQL and MariaDB.
#
#   tests/sql/run.sh                       what CI runs: seed 1, at most two minutes
#   tests/sql/run.sh --queries 100000 --seed 7
#
# Needs Debian's `postgresql` and `mariadb-server`, and Python 3.11 with venv.
set -euo pipefail
cd "$(dirname "$0")/../.."
target="${CARGO_TARGET_DIR:-target}"

if ! command -v mariadbd >/dev/null || ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
    echo "tests/sql needs PostgreSQL and MariaDB: apt-get install postgresql mariadb-server" >&2
    exit 1
fi
venv="$target/sql-venv"
if [ ! -e "$venv/ready" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement tests/sql/requirements.txt
    touch "$venv/ready"
fi
cargo build --quiet --locked -p bouncer-reader --example sql_views
"$venv/bin/python" tests/sql/ordinary/check.py
arguments=("$@")
[ "$#" -gt 0 ] || arguments=(--seed 1 --seconds 110)
exec "$venv/bin/python" tests/sql/differential.py "$target/debug/examples/sql_views" "${arguments[@]}"
