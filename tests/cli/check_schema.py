"""check_schema.py SCHEMA TRACE...: every line of every trace fits the schema, and lines that must not fit do not."""
import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit("python3-jsonschema is missing (bootstrap installs it)")

schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
bad = 0
kinds = {}
for path in sys.argv[2:]:
    for number, line in enumerate(open(path), 1):
        event = json.loads(line)
        kinds[event.get("ev")] = event
        for error in validator.iter_errors(event):
            bad += 1
            print(f"{path}:{number}: {event.get('ev')}: {'/'.join(map(str, error.path))}: {error.message[:300]}")

# The schema can fail: each kind without one of its members, and with one of the wrong type.
for kind, event in kinds.items():
    for name in event:
        if name in ("unit", "ev", "n") or kind == "verdict" and name in ("phase", "candidate", "verdict"):
            short = copy.deepcopy(event)
            del short[name]
            if validator.is_valid(short):
                bad += 1
                print(f"{kind} without '{name}' passes")
    wrong = copy.deepcopy(event)
    wrong["n"] = "one"
    if validator.is_valid(wrong):
        bad += 1
        print(f"{kind} with a text for 'n' passes")
print(f"{len(kinds)} kinds of events, {bad} bad")
sys.exit(bad != 0)
