#!/bin/sh
# The knobs of ports and hosts against the guest's kernel. Usage: check_knobs_port.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 420 "$1/tests/lab/jobs/knobs_port.sh" "$2"
