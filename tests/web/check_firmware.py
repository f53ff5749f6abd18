#!/usr/bin/env python3
"""Firmware in Chromium: versions of simulated devices, an image, a campaign that is not started.

check_firmware.py SRC OBJ [--shots FOLDER]
"""
from drive import main

main("firmware.mjs")
