#!/bin/sh
# Runs uv: the one on PATH where there is one, else one installed for this checkout alone.
#
# The private copy lives in .cache/uv and comes from a hashed list, like every other dependency.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
export UV_PYTHON_DOWNLOADS=never

if command -v uv >/dev/null 2>&1; then
    exec uv "$@"
fi
private="$root/.cache/uv"
if [ ! -x "$private/bin/uv" ]; then
    python=$("$root/scripts/pythons.sh" | head -n 1)
    [ -n "$python" ] || { echo "agent-ls needs Python 3.11 or newer; none was found on PATH." >&2; exit 1; }
    "$python" -m venv --clear "$private" >&2
    "$private/bin/python" -m pip install --quiet --disable-pip-version-check \
        --require-hashes -r "$root/scripts/bootstrap.lock" >&2
fi
exec "$private/bin/uv" "$@"
