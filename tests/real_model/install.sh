#!/bin/sh
# Brings a small real model and the server that plays it onto this machine, for tests/real_model.
#
# They have an environment of their own, in the cache folder beside the editors', as the server takes
# about 15 minutes to compile on two cores. A second run takes no time.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"
venv=${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls/real-model
lock=tests/real_model/requirements.lock
[ "$(cat "$venv/installed.lock" 2>/dev/null || true)" = "$(cat "$lock")" ] && exit 0

command -v cc >/dev/null || { echo "a C++ compiler is needed to build llama.cpp: install build-essential" >&2; exit 1; }
echo "building a server for a small model; that takes about 15 minutes, once" >&2
mkdir -p "$(dirname "$venv")"
scripts/uv.sh venv --quiet --clear --python .venv/bin/python "$venv"
# Built for this processor alone, the library has ended with an invalid instruction on virtual machines.
CMAKE_ARGS=-DGGML_NATIVE=OFF scripts/uv.sh pip install --quiet --python "$venv/bin/python" --require-hashes -r "$lock"
cp "$lock" "$venv/installed.lock"
