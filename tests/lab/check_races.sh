#!/bin/sh
# Ports that go, come back, get other names and namespaces while the agent works on them. Usage: check_races.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 580 "$1/tests/lab/jobs/agent_races.py" "$2"
