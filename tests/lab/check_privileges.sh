#!/bin/sh
# What the agent keeps of root's rights, and what is refused to it. Usage: check_privileges.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 400 "$1/tests/lab/jobs/agent_privileges.py" "$2"
