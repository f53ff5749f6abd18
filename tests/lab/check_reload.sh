#!/bin/sh
# What a driver takes when it is reloaded: the agent reloads just that device, once that is approved, and brings back what it lost.
# Usage: check_reload.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 400 "$1/tests/lab/jobs/agent_reload.py" "$2"
