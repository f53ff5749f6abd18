#!/bin/sh
# Runbooks over a live node with faults that came over its wire. Usage: check_runbooks.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --smp 2 --timeout 580 "$1/tests/lab/jobs/runbooks.py" "$2"
