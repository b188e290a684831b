#!/bin/sh
# Runs the tests with these marks, of which some play stories in real editors: test_editors.sh MARKS
#
# Real editors depend on the machine's load, so a story of an editor that fails is played once more, alone.
# If it passes then, it is reported as a hiccup. Everything else that fails has failed.
set -uf
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root" || exit 1
cache=.cache/editors
marks=$1

# pytest's own tracebacks have ended a run with an error of their own, and hidden which tests failed.
play() {
    .venv/bin/python -m pytest --tb=native -m "$marks" "$@" </dev/null
}

play -n 3 --dist worksteal -o cache_dir="$cache" --cache-clear
code=$?
# 1: tests have failed. Any other code says that the run itself went wrong.
[ "$code" = 1 ] || exit "$code"
tests=$(.venv/bin/python -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' \
    "$cache/v/cache/lastfailed") || exit 1
[ -n "$tests" ] || exit 1

code=0
hiccups=
newline='
'
IFS=$newline
for test in $tests; do
    case $test in
    # The panel's pictures are taken in a real browser.
    tests/editors/* | tests/panel/*)
        echo "once more, alone: $test"
        if play -p no:cacheprovider "$test"; then
            hiccups="${hiccups}hiccup: $test$newline"
        else
            code=1
        fi
        ;;
    *) code=1 ;;
    esac
done
printf %s "$hiccups"
[ "$code" = 0 ] || echo "a test has failed" >&2
exit "$code"
