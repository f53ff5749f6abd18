#!/usr/bin/env python3
"""The whole way, from the first start of an empty server to a report in Chinese. Its nodes are enrolled by the page's commands.

check_journey.py SRC OBJ [--shots FOLDER]
"""
from drive import main
from sick import sick

main("journey.mjs", sick, nodes=())
