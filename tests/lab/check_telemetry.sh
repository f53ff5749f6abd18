#!/bin/sh
# Telemetry's counters against the guest's kernel. Usage: check_telemetry.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 300 "$1/tests/lab/jobs/telemetry.sh" "$2"
