#!/bin/sh
# The agent writes firmware of the test NIC over devlink. Usage: check_flash.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 580 "$1/tests/lab/jobs/flash.sh" "$2"
