#!/bin/sh
# Makes .venv: every dependency from requirements.lock with its hash, and the project itself, editable.
#
# Does nothing when .venv already answers to the current lock, so each make target may call it.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
mkdir -p .cache
if [ "${1:-}" != locked ] && command -v flock >/dev/null 2>&1; then
    exec flock .cache/setup.lock "$0" locked
fi

stamp=.venv/.agent-ls-setup
wanted=$(cat requirements.lock pyproject.toml scripts/setup.sh | cksum)
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi

python=$(scripts/pythons.sh | head -n 1)
[ -n "$python" ] || { echo "agent-ls needs Python 3.11 or newer; none was found on PATH." >&2; exit 1; }
echo "setting up .venv with $("$python" --version)" >&2
[ -x .venv/bin/python ] || scripts/uv.sh venv --quiet --python "$python" .venv
scripts/uv.sh pip install --quiet --python .venv/bin/python --require-hashes -r requirements.lock
scripts/uv.sh pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
printf '%s' "$wanted" > "$stamp"
