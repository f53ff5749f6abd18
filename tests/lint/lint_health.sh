#!/bin/sh
# The tables of rules and causes in doc/health.md against the sources. Prints TAP.
exec "${PYTHON:-python3}" "$1/tests/lint/health_table.py" "$1"
