#!/usr/bin/env python3
"""A tenant's policy, and the rollout that takes it to nodes, in Chromium; once by the keyboard alone.

check_rollouts.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("rollouts.mjs")
