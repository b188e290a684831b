# One command for each thing one does here; every target sets up what it needs.
SHELL := /bin/sh
PY := .venv/bin/python

.PHONY: setup lock

setup:
	@scripts/setup.sh

lock:
	scripts/lock.sh
