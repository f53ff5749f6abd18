#!/bin/sh
# The test NIC does what its tests rely on. Usage: check_kmod.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 580 "$1/tests/lab/jobs/kmod_selftest.sh"
