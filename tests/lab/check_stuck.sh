#!/bin/sh
# A device that hangs does not delay the others. Usage: check_stuck.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 300 "$1/tests/lab/jobs/agent_stuck.py" "$2"
