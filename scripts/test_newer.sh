#!/bin/sh
# Runs the unit part of the tests on every interpreter newer than the one of .venv that this machine has.
#
# The first argument says which tests, the others go to pytest.  Each interpreter gets its own environment below .cache/venvs, from the same lock.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
tests=$1
shift
version='import sys; print("%d.%d" % sys.version_info[:2])'
ours=$(.venv/bin/python -c "$version")
lock=$(cat requirements.lock | cksum)

scripts/pythons.sh | while read -r python; do
    name=$("$python" -c "$version")
    newest=$(printf '%s\n%s\n' "$ours" "$name" | sort -V | tail -n 1)
    [ "$name" != "$ours" ] && [ "$newest" = "$name" ] || continue
    venv=".cache/venvs/$name"
    if [ "$(cat "$venv/.lock" 2>/dev/null || true)" != "$lock" ]; then
        echo "setting up $venv" >&2
        scripts/uv.sh venv --quiet --clear --python "$python" "$venv"
        scripts/uv.sh pip install --quiet --python "$venv/bin/python" --require-hashes -r requirements.lock
        printf '%s' "$lock" > "$venv/.lock"
    fi
    echo "unit tests on Python $name"
    "$venv/bin/python" -m pytest -q -m "$tests" "$@" < /dev/null
done
