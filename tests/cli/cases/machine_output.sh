# What other tools read: SARIF 2.1.0 and optimisation records of an analysis, JUnit of verdicts, Prometheus text of counters.
# sarif.schema.json: what the standard requires and allows of the members that we write, and no member besides.  SARIF_SCHEMA=FILE: the standard's own, as well.
# Programs and libraries that read such files read them, where they are: llvm-opt-report, opt-viewer, prometheus_client, junitparser.
light
cat >"s ü.cu" <<'F'
/* ü */ __global__ void k(float *p, int n) { int i = threadIdx.x * n; for (int j = 0; j < n; j++) p[i * 33 + j * 7] += 1.0f; }
void f(float *p, int n) { /* é */ k<<<1, 32>>>(p, n); k<<<1, 32>>>(p, n); }
F
run "$KSCC" analyze --sarif "s ü.cu"; expect_status 0; cp out a.sarif
run "$KSCC" analyze --json "s ü.cu"; expect_status 0; cp out a.json
run "$KSCC" analyze --yaml "s ü.cu"; expect_status 0; cp out a.yaml
run "$KSCC" analyze "s ü.cu"; cp out a.txt
run "$KSCC" analyze --yaml --json "s ü.cu"; expect_status 2
cat >check.py <<'P'
import json, os, re, sys
from urllib.parse import unquote
log = json.load(open("a.sarif"))
import copy, jsonschema
for schema in [os.environ["SRC"] + "/tests/cli/sarif.schema.json"] + [f for f in [os.environ.get("SARIF_SCHEMA")] if f]:
    validator = jsonschema.validators.validator_for(json.load(open(schema)))(json.load(open(schema)))
    validator.check_schema(validator.schema)
    validator.validate(log)
    first = lambda x: x["runs"][0]["results"][0]
    for break_it in (lambda x: x.pop("version"), lambda x: x["runs"][0]["tool"].pop("driver"), lambda x: first(x).pop("message"), lambda x: first(x).update(level="remark"),
                     lambda x: first(x)["locations"][0]["physicalLocation"]["region"].update(startLine=0), lambda x: first(x).update(severity="low")):
        wrong = copy.deepcopy(log); break_it(wrong)
        assert not validator.is_valid(wrong), "the schema takes what the standard refuses"
remarks = open("a.txt", encoding="utf8").read().count(": remark: ")
assert remarks > 0, "nothing is remarked"
assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json") and len(log["runs"]) == 1
run = log["runs"][0]
driver = run["tool"]["driver"]
assert driver["name"] == "kscc" and run["columnKind"] == "unicodeCodePoints"
ids = [rule["id"] for rule in driver["rules"]]
assert len(set(ids)) == len(ids)
lines = open("s ü.cu", encoding="utf8").read().split("\n")
def place(location):
    physical = location["physicalLocation"]
    assert unquote(physical["artifactLocation"]["uri"]) == "s ü.cu" and " " not in physical["artifactLocation"]["uri"]
    region = physical["region"]
    assert 1 <= region["startColumn"] < region["endColumn"] <= len(lines[region["startLine"] - 1]) + 1, region
    return lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
for result in run["results"]:
    assert ids[result["ruleIndex"]] == result["ruleId"] and result["level"] == "note" and result["message"]["text"]
    assert len(result["locations"]) == 1
    text = place(result["locations"][0])
    assert text and not text[0].isspace(), text
    for related in result.get("relatedLocations", []):
        assert related["message"]["text"] and place(related)
assert len(run["results"]) == remarks, (len(run["results"]), remarks)
shown = [h for h in json.load(open("a.json"))["hypotheses"] if h["score"] >= 0.1]
assert [r["ruleId"] for r in run["results"]] == ["kscc-" + h["layer"] for h in shown]
# YAML: one document a remark; scalars in single quotes or plain words
text = open("a.yaml", encoding="utf8").read()
documents = [d for d in text.split("--- !Analysis\n") if d]
assert len(documents) == remarks
quoted = r"'(?:[^'\n]|'')*'"
loc = rf"DebugLoc: \{{ File: {quoted}, Line: [0-9]+, Column: [0-9]+ \}}\n"
for d, h in zip(documents, shown):
    assert re.fullmatch(rf"Pass: kscc\nName: {h['layer']}\n(?:{loc})?Function: {quoted}\nArgs:\n  - String: {quoted}\n"
                        rf"  - Score: '[0-9.]+'\n(?:  - Evidence: {quoted}\n(?:    {loc})?)*\.\.\.\n", d), d
P
python3 check.py >py.out 2>&1 || { fail "SARIF or YAML"; tail -5 py.out; }
if command -v llvm-opt-report >/dev/null; then
  llvm-opt-report a.yaml >opt.out 2>&1 || fail "llvm-opt-report: $(head -3 opt.out)"
  sed 's/DebugLoc: {/&{/' a.yaml >bad.yaml; ! llvm-opt-report bad.yaml >opt.out 2>&1 || fail "llvm-opt-report takes anything"
fi
reader() { # reader MODULE [FOLDER]: a Python, Debian's too, that has the module
  local p; for p in python3 /usr/bin/python3; do PYTHONPATH=${2:-} "$p" -c "import $1" 2>/dev/null && { echo "$p"; return 0; }; done; return 1; }
viewer=$(ls -d /usr/lib/llvm-*/share/opt-viewer 2>/dev/null | tail -1)
if p=$(reader optrecord "$viewer"); then
  PYTHONPATH=$viewer "$p" -c 'import optrecord
_, remarks, files = optrecord.get_remarks("a.yaml")
assert len(remarks) == open("a.yaml").read().count("--- !Analysis") and all(r.Pass == "kscc" and r.File == "s ü.cu" and r.Line > 0 for r in remarks.values()), (len(remarks), list(files))' >py.out 2>&1 || fail "opt-viewer: $(tail -2 py.out)"
fi
# verdicts
unit
candidate 1 'compute 2 writes out of bounds & "more" <here>' 'y[i < n ? i : i + 100000] = x[i < n ? i : 0] * 3.0f + 1.0f;'
good_candidate 2
MAKELEVEL=1 agent --kscc-agent=file:cand -c unit.cu -o unit.o; expect_status 0
expect_err 'gate passed: '; expect_no_err 'trial 2 (2.cu)'; expect_no_err 'question (' # quiet inside a build
run "$KSCC" report --junit; expect_status 0; cp out junit.xml
run "$KSCC" report --json; cp out report.json
cat >junit.py <<'P'
import json, xml.etree.ElementTree as xml
root = xml.parse("junit.xml").getroot()
report = json.load(open("report.json"))
assert root.tag == "testsuites" and len(root) == 1
suite = root[0]
cases = suite.findall("testcase")
verdicts = report["trials"] + report["confirmations"]
assert suite.get("name") == "unit.cu:scale_shift" and int(suite.get("tests")) == len(cases) == len(verdicts) > 2
assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == sum(v["outcome"] == "rejected" for v in verdicts) == 1
assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped")) == sum(v["outcome"] == "no gain" for v in verdicts)
failure = suite.find("testcase/failure")
assert failure.get("type") == verdicts[0]["gate"] and verdicts[0]["reason"] in failure.text
assert '& "more" <here>' in cases[0].get("name"), cases[0].get("name")
P
if p=$(reader junitparser); then
  "$p" -c 'import junitparser
suites = list(junitparser.JUnitXml.fromfile("junit.xml"))
assert len(suites) == 1 and suites[0].tests == len(list(suites[0])) > 2 and suites[0].failures == 1' >py.out 2>&1 || fail "junitparser: $(tail -2 py.out)"
fi
python3 junit.py >py.out 2>&1 || { fail "JUnit"; tail -5 py.out; head -20 junit.xml; }
# what a store holds and what a commit would ship
for words in 'list' 'verify'; do run "$KSCC" store --json $words; expect_status 0; cp out store-$words.json; done
run "$KSCC" check --json unit.cu; expect_status 1; cp out check.json
cat >store.py <<'P'
import json, os
report, rows, verified, checked = (json.load(open(f)) for f in ("report.json", "store-list.json", "store-verify.json", "check.json"))
assert len(rows) == 1 and rows[0]["key"] == report["key"] and rows[0]["entry"] == "scale_shift" and rows[0]["state"] == "certified" and rows[0]["modelled"]
assert abs(rows[0]["speedup"] - report["speedup"]["estimate"]) < 1e-6 and rows[0]["trials"] == 2
assert verified["good"] == 1 and verified["bad"] == verified["kept_bad"] == 0 and all(f["key"] == report["key"] and f["ok"] for f in verified["findings"])
assert checked == [{"file": "unit.cu", "ok": False, "entries": [{"entry": "scale_shift", "policy": "explore", "certificate": "bad", "ok": False}]}], checked
P
python3 store.py >py.out 2>&1 || { fail "JSON of a store"; tail -5 py.out; }
run "$KSCC" store gc --json; expect_status 2
# counters
run "$KSCC" --kscc-dir=counted -c unit.cu -o unit.o; run "$KSCC" --kscc-dir=counted --version
run "$KSCC" stats --prometheus --kscc-dir=counted; expect_status 0; cp out metrics
run "$KSCC" stats --json --kscc-dir=counted; cp out stats.json
cat >metrics.py <<'P'
import json, re
stats = json.load(open("stats.json"))
text = open("metrics").read()
seen = dict()
for block in re.findall(r"# HELP (\w+) [^\n]+\n# TYPE (\w+) counter\n(\w+) (\d+)\n", text):
    assert block[0] == block[1] == block[2]
    seen[block[0]] = int(block[3])
assert text.count("\n") == 3 * len(seen) and seen == {f"kscc_{k}_total": v for k, v in stats.items()}
assert seen["kscc_calls_total"] == 2
P
if p=$(reader prometheus_client); then
  "$p" -c 'from prometheus_client.parser import text_string_to_metric_families as read
seen = {s.name: s.value for family in read(open("metrics").read()) if family.type == "counter" for s in family.samples}
assert seen["kscc_calls_total"] == 2, seen' >py.out 2>&1 || fail "prometheus_client: $(tail -2 py.out)"
fi
python3 metrics.py >py.out 2>&1 || { fail "Prometheus"; tail -5 py.out; cat metrics | head; }
run "$KSCC" stats --prometheus --json --kscc-dir=counted; expect_status 2
