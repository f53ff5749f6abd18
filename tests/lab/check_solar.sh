#!/bin/sh
# Two jobs of Solar-RDMA follow their policies, live. Usage: check_solar.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --smp 2 --timeout 590 "$1/tests/lab/jobs/solar_jobs.py" "$2"
