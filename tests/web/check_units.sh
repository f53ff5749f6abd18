#!/bin/sh
# Unit tests of the web UI: modules and components (webui/tests). Prints TAP.
set -u
cd "$2/webui" && exec npx --no-install vitest run --reporter=tap-flat
