#!/bin/sh
# The inventory against the guest's kernel. Usage: check_inventory.sh SRCDIR OBJDIR.
exec "$1/tests/lab/lab" run --cache "$2/lab" --timeout 420 "$1/tests/lab/jobs/inventory.sh" "$2"
