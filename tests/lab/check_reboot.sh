#!/bin/sh
# What only a boot puts in effect: the agent runs the declared command, in its window, when nobody uses RDMA, once.
# Usage: check_reboot.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 600 "$1/tests/lab/jobs/agent_reboot.py" "$2"
