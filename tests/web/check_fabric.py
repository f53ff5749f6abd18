#!/usr/bin/env python3
"""The editor of the fabric profile.

check_fabric.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("fabric.mjs")
