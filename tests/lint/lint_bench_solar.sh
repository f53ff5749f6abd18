#!/bin/sh
# bench-solar's readers of what peers print, and a short run of it. Usage: lint_bench_solar.sh SRCDIR OBJDIR.
exec python3 "$(dirname "$0")/bench_solar.py" "$1" "$2"
