#!/bin/sh
# Ports come and go below a running agent. Usage: check_ports.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 580 "$1/tests/lab/jobs/agent_ports.py" "$2"
