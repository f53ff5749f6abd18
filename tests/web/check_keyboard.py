#!/usr/bin/env python3
"""The whole way of check_journey.py by the keyboard alone: Tab until there, keys, and what has the focus shows it.

check_keyboard.py SRC OBJ [--shots FOLDER]
"""
from drive import main
from sick import sick

main("journey.mjs", sick, nodes=(), STELLAR_HANDS="keyboard")
