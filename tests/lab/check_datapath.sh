#!/bin/sh
# dp_linux against the guest's kernel. Usage: check_datapath.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 420 "$1/tests/lab/jobs/dp_selftest.sh" "$2"
