#!/bin/sh
# Lists the usable interpreters (3.11 or newer), the default one first, one per minor version.
#
# Looks at $PYTHON, at PATH, and at what pyenv has installed.
set -eu

candidates() {
    [ -z "${PYTHON:-}" ] || command -v "$PYTHON" || true
    for name in python3 python3.11 python3.12 python3.13 python3.14; do
        command -v "$name" || true
    done
    for path in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        [ ! -x "$path" ] || echo "$path"
    done
}

# A pyenv shim exists for versions that are not active and then fails, so each candidate is run.
probe='import sys, venv
if sys.version_info >= (3, 11):
    print("%d.%d" % sys.version_info[:2], getattr(sys, "_base_executable", None) or sys.executable)'
candidates | while read -r python; do
    "$python" -c "$probe" 2>/dev/null || true
done | awk '!seen[$1]++ { print $2 }'
