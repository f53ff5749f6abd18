#!/usr/bin/env python3
"""What operators decide on nodes, jobs and people, in Chromium: reboots, placements, passwords, who may log in.

n8 is played: it tells what waits for a reboot (the agent's own part: tests/api/test_reboot.py).
check_operate.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("operate.mjs")
