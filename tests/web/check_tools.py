#!/usr/bin/env python3
"""The parts of a node, the rules of hardware, and the explorer of the API.

check_tools.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("tools.mjs")
