#!/usr/bin/env python3
"""What a tenant sees of itself: its home, its jobs, its policy in its own hands.

check_tenant.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("tenant.mjs")
