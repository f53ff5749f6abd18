#!/usr/bin/env python3
"""Incidents, runbooks and reports of health in Chromium. A node of its own, n9, tells counters that are not well.

check_health.py SRC OBJ [--shots FOLDER]
"""
from drive import main
from sick import sick

main("health.mjs", sick)
