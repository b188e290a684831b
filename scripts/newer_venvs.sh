#!/bin/sh
# Gives every interpreter newer than the one of .venv an environment from the same lock, below .cache/venvs,
# with the project itself in it, editable: tests start it as `python -P -m agent_ls` in folders of their own.
#
# Prints the path of each environment's python, oldest first; with NEWEST=1 only the newest has one.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
version='import sys; print("%d.%d" % sys.version_info[:2])'
ours=$(.venv/bin/python -c "$version")
lock=$(cat requirements.lock pyproject.toml scripts/newer_venvs.sh | cksum)

scripts/pythons.sh | while read -r python; do
    name=$("$python" -c "$version")
    newest=$(printf '%s\n%s\n' "$ours" "$name" | sort -V | tail -n 1)
    [ "$name" = "$ours" ] || [ "$newest" != "$name" ] || echo "$name $python"
done | sort -V | tail -n "${NEWEST:-+1}" | while read -r name python; do
    venv=".cache/venvs/$name"
    if [ "$(cat "$venv/.lock" 2>/dev/null || true)" != "$lock" ]; then
        echo "setting up $venv" >&2
        scripts/uv.sh venv --quiet --clear --python "$python" "$venv" >&2
        scripts/uv.sh pip install --quiet --python "$venv/bin/python" --require-hashes -r requirements.lock >&2
        scripts/uv.sh pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation --editable . >&2
        printf '%s' "$lock" > "$venv/.lock"
    fi
    echo "$venv/bin/python"
done
