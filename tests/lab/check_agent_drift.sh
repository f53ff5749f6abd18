#!/bin/sh
# A knob of every kind is changed by hand: the drift is receipted by its event; marks go as told. Usage: check_agent_drift.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 600 "$1/tests/lab/jobs/agent_drift.sh" "$2"
