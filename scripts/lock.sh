#!/bin/sh
# Resolves the ranges of pyproject.toml into requirements.lock: all platforms, all extras, hashes, no addresses.
#
# Keeps what is locked already as far as the ranges allow; pass --upgrade to take newer releases.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
compile() {
    scripts/uv.sh pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --custom-compile-command "make lock" "$@"
}
compile --all-extras --group dev pyproject.toml -o requirements.lock "$@"
compile scripts/bootstrap.in -o scripts/bootstrap.lock "$@"
compile tests/real_model/requirements.in -o tests/real_model/requirements.lock "$@"
