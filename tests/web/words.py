#!/usr/bin/env python3
"""Prints each word of the contract's states that the web UI shows and has no text of (src/i18n/en.ts; the others have its keys).

words.py SRC
"""
import json
import os
import re
import sys

import yaml

# Where the contract has the words, and what the web UI calls their kind (Badge, word()).
PLACES = (
    ("NodeItem/properties/sync", "sync"),
    ("Chain/properties/verdict", "verdict"),
    ("Finding/properties/severity", "severity"),
    ("Incident/properties/state", "incident.state"),
    ("HealthReport/properties/grade", "grade"),
    ("Preview/properties/disruption", "disruption"),
    ("RolloutState", "rollout"),
    ("RolloutNodeState", "rolloutNode"),
    ("Rollout/properties/waves/items/properties/state", "wave"),
    ("Rollout/properties/waves/items/properties/gates/items/properties/state", "gate"),
    ("Rollout/properties/waves/items/properties/gates/items/properties/name", "gateName"),
    ("RunbookRun/properties/steps/items/properties/verdict", "step"),
    ("RunbookRun/properties/likely/items/properties/strength", "strength"),
    ("CampaignState", "campaign"),
    ("CampaignDeviceState", "device"),
    ("VerificationState", "verification"),
    ("VerifyVerdict", "verify"),
    ("VerificationTest/properties/state", "verify"),
    ("VerifyKind", "verifyKind"),
    ("CampaignWaves/items/properties/state", "wave"),
)


def words(schema, place):
    for part in place.split("/"):
        schema = schema[part]
    return schema["enum"]


def main(src):
    with open(os.path.join(src, "schemas/openapi.yaml"), encoding="utf-8") as f:
        schemas = yaml.safe_load(f)["components"]["schemas"]
    with open(os.path.join(src, "schemas/receipt.json"), encoding="utf-8") as f:
        wanted = {f"result.{word}" for word in json.load(f)["properties"]["result"]["enum"]}
    wanted |= {f"{kind}.{word}" for place, kind in PLACES for word in words(schemas, place)}
    told = set()
    for name in ("en.ts", "en_operations.ts", "en_tools.ts"):
        with open(os.path.join(src, "webui/src/i18n", name), encoding="utf-8") as f:
            told |= set(re.findall(r'^  "([^"]+)":', f.read(), re.M))
    for key in sorted(wanted - told):
        print(f"no text of {key} in webui/src/i18n")


main(sys.argv[1])
