#!/bin/sh
# Fuzzes one target on stable Rust: ./run.sh TARGET [SECONDS] [libFuzzer options]
#
# Needs cargo, a C++ compiler (for libFuzzer's runtime, which libfuzzer-sys
# builds) and nothing else. The flags below are what cargo-fuzz passes, without
# the sanitizers, which stable Rust does not have. They are given for an explicit
# --target so that cargo leaves them off build scripts and procedural macros.
#
# Finds go to corpus/TARGET (ignored by git); seeds/TARGET is only read. A crash is
# written to artifacts/TARGET-…; run that file with: ./run.sh TARGET 0 FILE
set -eu
cd "$(dirname "$0")"
target=${1:?usage: run.sh TARGET [SECONDS] [libFuzzer options]}
seconds=${2:-20}
[ $# -ge 2 ] && shift 2 || shift 1
host=$(rustc -vV | sed -n 's/^host: //p')

export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares \
-Cllvm-args=-simplifycfg-branch-fold-threshold=0"
cargo build --release --target "$host" --bin "$target"
unset RUSTFLAGS

binary=target/$host/release/$target
if [ "$seconds" = 0 ]; then
    exec "$binary" "$@"
fi
mkdir -p "corpus/$target" artifacts "seeds/$target"
exec "$binary" -max_total_time="$seconds" -artifact_prefix="artifacts/$target-" \
    -timeout=10 -rss_limit_mb=2048 "$@" "corpus/$target" "seeds/$target"
