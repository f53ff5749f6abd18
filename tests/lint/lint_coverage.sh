#!/bin/sh
# Problem codes and rule ids: each is documented and asserted by name in a test. Prints TAP.
exec "${PYTHON:-python3}" "$1/tests/lint/coverage.py" "$1"
