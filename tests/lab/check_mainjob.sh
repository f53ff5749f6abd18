#!/bin/sh
# The main job in the lab, as TAP: see demo.py. Usage: check_mainjob.sh SRCDIR OBJDIR.
exec "${PYTHON:-/usr/bin/python3}" "$1/tests/lab/demo.py" --srcdir "$1" --objdir "$2" --tap
