# The page of a report: one file that asks the network for nothing and runs nothing, well nested, the same data as the JSON, whatever a
# trial's text holds and however many trials there are; an unfinished search and a store that cannot be written to have reports too.
light
cat >check.py <<'P'
import html.parser, sys
class Page(html.parser.HTMLParser):
    void = {"meta"}
    def __init__(self):
        super().__init__(); self.open = []; self.seen = {}; self.classes = {}; self.text = []
    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        for name, value in attrs:
            if name == "class": self.classes[value] = self.classes.get(value, 0) + 1
            if name in ("src", "srcset", "data", "action") or name.startswith("on"): sys.exit(f"attribute {name}={value}")
            if name == "href" and not value.startswith("objects/"): sys.exit(f"link to {value}")
        if tag not in self.void: self.open.append(tag)
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag: sys.exit(f"</{tag}> closes nothing")
    def handle_startendtag(self, tag, attrs):
        if tag not in self.void: sys.exit(f"<{tag}/> is not closed in HTML")
    def handle_data(self, data): self.text.append(data)
def page(path):
    p = Page(); p.feed(open(path, encoding="utf-8").read()); p.close()
    if p.open: sys.exit(f"left open: {p.open}")
    for bad in ("script", "link", "img", "iframe", "object"):
        if bad in p.seen: sys.exit(f"<{bad}> in the page")
    return p
P
unit; good_candidate 1; candidate 2 'compute 1.9 the constant can be guessed' 'if (i < n) y[i] = 1.0f;'
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
dir=$(key_dir)
run "$KSCC" report --all
expect_status 0
expect_file "${dir}report.html"; expect_file .kscc/index.html
run "$KSCC" report --json
expect_status 0
cat >real.py <<'P'
import json, sys
sys.path.insert(0, ".")
from check import page
r = json.load(open("out")); p = page(sys.argv[1] + "report.html"); page(".kscc/index.html")
text = "".join(p.text)
trials = r["trials"]
assert len(trials) == 2 and r["state"] == "certified" and r["modelled"], r
assert any("gate" in t for t in trials) and any(t["outcome"] == "accepted" and t["best"] for t in trials), trials
assert p.classes.get("good", 0) >= 1 and p.classes.get("asked", 0) == len(r["questions"]) > 0, p.classes
sizes = [t["named_sizes"] for t in trials + r["confirmations"] if t["outcome"] == "accepted"]
assert len(sizes) == 2 and all(k["tried"] > 0 for k in sizes[1].values()), sizes
assert all(f"{n}: {k['found']} found, {k['tried']} call" in text for s in sizes for n, k in s.items()), text
assert f"{r['speedup']['estimate']:.3g}x" in text and "modelled speed-up" in text
assert p.classes.get("roof", 0) == 1 and "of it" in text and p.classes.get("stroke", 0) == 1, p.classes  # original, result and trials against the roofline
assert all(q["text"] in text for q in r["questions"]) and "+++ candidate" in text
assert len(r["layers"]["before"]) > 0 and r["spend"]["wall_s"] > 0
P
python3 real.py "$dir" || fail "the page of the search is not right"

# what a trace may hold: markup, many trials, trials without a time, a search that has not ended
cat >made.py <<'P'
import json, math, os, sys
def make(key, n, text, trace="trace.jsonl"):
    d = f"made/objects/{key}"; os.makedirs(d)
    events = [{"ev": "start", "n": 1, "unit": text, "entry": text, "agent": "a", "device": {"kind": "emulated", "arch": "sm_90a", "modelled": True}}, {"ev": "hypotheses", "hypotheses": [{"layer": "compute", "score": 0.5, "text": text}]}]
    for i in range(n):
        if i % 7 == 0: events.append({"ev": "question", "point": "start", "layer": "compute", "id": "x", "text": text})
        events.append({"ev": "proposal", "agent": "a", "transform": text, "layer": "compute", "hypothesis": text, "predicted": 1.1})
        good = i % 3 == 0
        v = {"outcome": "accepted" if good else "rejected", "speedup": 1 + math.sqrt(i) / 10 if good else 0,
             "gates": {"numerics": {"state": "pass" if good else "fail", "reason": text}}, "points": []}
        events.append({"ev": "verdict", "phase": "trial", "verdict": v})
    if key[0] == "d": events += [{"ev": "question", "point": "limit", "layer": "compute", "id": "x", "text": text}] * 3
    events.append({"ev": "message", "role": "assistant", "content": text})
    events.append({"ev": "spend", "input_tokens": 1234, "n": 9})
    with open(f"{d}/{trace}", "w") as f: f.writelines(json.dumps(e) + "\n" for e in events); f.write('{"ev": "verd')
make("a" * 64, 1, "</style><script>alert(1)</script> \u00e9 & \"<b>\" ]]>")
make("b" * 64, 1000, "plain")
make("c" * 64, 0, "")
make("d" * 64, 5, "several questions in a row")
make("e" * 64, 2, "turned \u202e round\x1b[2K \U0001f600", "trace.jsonl.part")  # a search that is going on, or was killed
p = f"made/objects/{'e' * 64}/trace.jsonl.part"; b = open(p, "rb").read(); open(p, "wb").write(b.replace(b"round", b"r\xffund"))
P
python3 made.py
run "$KSCC" report --kscc-dir=made --all
expect_status 0
cat >judge.py <<'P'
import sys
sys.path.insert(0, ".")
from check import page
one, many, none = (page(f"made/objects/{c * 64}/report.html") for c in "abc")
assert "<script>alert(1)</script>" in "".join(one.text)
assert many.seen["circle"] == 668, many.seen  # half in each chart
assert many.classes["refused"] == 666 and many.classes["asked"] == 143, many.classes
import re
numbers = [[float(x) for x in re.findall(r'class="asked"><line[^>]*>(?:</line>)?<text[^>]* x="([0-9.]+)"', open(f"made/objects/{c * 64}/report.html").read())] for c in "ad"]
assert len(numbers[0]) == 1 and len(numbers[1]) == 2 and numbers[1][1] - numbers[1][0] >= 14, numbers  # numbers do not cover each other
facts = [re.findall(r'<b>(\d+)</b>\s*<span>(trials?|questions?)<', open(f"made/objects/{c * 64}/report.html").read()) for c in "abc"]
assert facts == [[("1", "trial"), ("1", "question")], [("1000", "trials"), ("143", "questions")], [("0", "trials"), ("0", "questions")]], facts
tops = [[float(y) for y in re.findall(r'class="asked"><line[^>]* y1="([0-9.]+)"', open(f"made/objects/{c * 64}/report.html").read())] for c in "ab"]
assert len(tops[0]) == 1 and len(tops[1]) == 143 and min(tops[1]) > tops[0][0] + 50, tops[0] + tops[1][:3]  # many do not cover the chart
assert "has not ended" in "".join(none.text) and "circle" not in none.seen
going = page(f"made/objects/{'e' * 64}/report.html"); text = "".join(going.text)
assert "turned <U+202E> r\\xffund\\x1b[2K \U0001f600 in turned" in text and "emulated sm_90a, times are modelled" in text and not set("\u202e\x1b") & set(text), text
assert going.classes["refused"] == 1 and "has not ended" in text, going.classes
assert "emulated" in "".join(page("made/index.html").text)
P
python3 judge.py || fail "a made page is not right"
run "$KSCC" report --kscc-dir=made --json bbbb
python3 -c 'import json; r = json.load(open("out")); assert len(r["trials"]) == 1000 and r["spend"]["input_tokens"] == 1234 and "n" not in r["spend"] and r["state"] == "unfinished"' ||
  fail "the JSON of a thousand trials is not right"
run "$KSCC" report --kscc-dir=made eeee; expect_status 0; expect_out "unit    turned <U+202E> r"; expect_out "2 trials: 1 accepted"
run "$KSCC" report --kscc-dir=made --junit; expect_status 0
python3 -c 'import xml.etree.ElementTree as xml; r = xml.parse("out").getroot(); assert len(r) == 5 and [len(s.findall("testcase")) for s in r] == [1, 1000, 0, 5, 2], len(r)' || fail "JUnit of made searches"
echo '{"cut' >made/objects/$(printf 'e%.0s' {1..64})/certificate.json
run "$KSCC" report --kscc-dir=made eeee; expect_status 0; expect_out "damaged: what the search ended with cannot be read"
mkdir -p none/objects; run "$KSCC" report --kscc-dir=none --all; expect_status 0; expect_out "no search in 'none' yet"; expect_file none/index.html
# what a card brings: a search on an H200
mkdir h200; tar -C h200 -xJf "$SRC/kernels/flash_attention/trace/sitting_h200.tar.xz"
run "$KSCC" report --kscc-dir=h200/s/store; expect_status 0; expect_out "device  NVIDIA H200 sm_90, driver for CUDA 13.0, toolkit 13.0.88"
cat >card.py <<'P'
import glob, sys
sys.path.insert(0, ".")
from check import page
p = page(glob.glob("h200/s/store/objects/*/report.html")[0]); text = "".join(p.text)
for words in ("NVIDIA H200 sm_90; toolkit", "1.14x [1.136, 1.142]", "1.17x [1.167, 1.170]", "result, warm L2", "268.4 us", "for CUDA 13.0", "132 SMs", "clocks up to 1980 MHz",
              "1.0008 [0.9984, 1.0032] over 24 pairs", "memcheck: clean; racecheck: clean; initcheck: clean; synccheck: clean; leakcheck: clean", "not throttled",
              "fa_forward<attention_config>(fa_params): 96 registers", "SM clock 1980 MHz before and 1980 MHz after", "read-only mounts, cgroup: memory", "under the sanitizer's tools"):
    assert words in text, words
assert p.classes["fail"] == 2 and p.classes["roof"] == 2 and p.classes["whisker"] == 4 and "modelled" not in text, p.classes
P
python3 card.py || fail "the page of a search on a card is not right"
run "$KSCC" report --json --all; expect_status 2
run "$KSCC" report --nothing; expect_status 2
if [ "$(id -u)" != 0 ]; then
  chmod a-w made/objects/*; run "$KSCC" report --kscc-dir=made cccc
  expect_status 0; expect_err "there is no page of this report"
fi
