#!/bin/sh
# Verifications of two guests' agents, ordered by REST: see verifications.py. Usage: check_verifications.sh SRCDIR OBJDIR.
exec "${PYTHON:-/usr/bin/python3}" "$1/tests/lab/verifications.py" --srcdir "$1" --objdir "$2"
