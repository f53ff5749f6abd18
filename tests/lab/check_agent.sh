#!/bin/sh
# The agent is killed, its server goes away, a set fails: the node converges. Usage: check_agent.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 420 "$1/tests/lab/jobs/agent_kill.sh" "$2"
