#!/bin/sh
# The agent is killed at many moments of a change of every kind. Usage: check_kill_sweep.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 580 "$1/tests/lab/jobs/agent_sweep.py" "$2"
