#!/bin/sh
# Faults of a node become their findings and no others. Usage: check_findings.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --smp 2 --timeout 590 "$1/tests/lab/jobs/findings.py" "$2"
