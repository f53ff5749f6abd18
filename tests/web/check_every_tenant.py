#!/usr/bin/env python3
"""Every screen that a tenant's administrator has: axe in light and dark, English and Chinese; tables and charts; narrow windows.

check_every_tenant.py SRC OBJ [--shots FOLDER]
"""
from drive import main
from sick import sick

main("every.mjs", sick, STELLAR_AS="tenant")
