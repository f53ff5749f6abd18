#!/bin/sh
# The knobs of RDMA devices and their drivers against the guest's kernel. Usage: check_knobs_device.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 420 "$1/tests/lab/jobs/knobs_device.sh" "$2"
