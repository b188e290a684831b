#!/bin/sh
# Runs the unit part of the tests on every interpreter newer than the one of .venv that this machine has;
# with NEWEST=1 on the newest of them alone.
#
# The first argument says which tests, the others go to pytest.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
tests=$1
shift
pythons=$(scripts/newer_venvs.sh)
[ -n "$pythons" ] || echo "this machine has no newer Python than .venv"
for python in $pythons; do
    echo "unit tests on $("$python" --version)"
    "$python" -m pytest -q -m "$tests" "$@"
done
