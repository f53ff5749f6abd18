#!/usr/bin/env python3
"""The first start and the screens of nodes, policies and people, with what leads from one to the other.

check_screens.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("main.mjs")
