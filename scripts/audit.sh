#!/bin/sh
# Looks for known faults in what the locks name. Asks advisory services, so no test runs it.
#
# Fails when a fault is known, and also when a service does not answer: then nothing was looked at.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root" || exit 1
failed=""
scripts/uv.sh tool run pip-audit==2.10.1 --strict --disable-pip --progress-spinner off -r requirements.lock ||
    failed="$failed requirements.lock"
for folder in vscode-client tools/node; do
    npm audit --prefix "$folder" || failed="$failed $folder"
done
[ -z "$failed" ] || { echo "not clean, or not looked at:$failed" >&2; exit 1; }
