#!/bin/sh
# Every knob kind: programmed, in the schemas, proven in the lab, and in doc/knob-table.md. Prints TAP.
exec "${PYTHON:-python3}" "$1/tests/lint/knob_table.py" "$1"
