# A model has no spread: neither progress nor report nor certificate shows an interval or a confidence, and a timing point whose answer
# nobody compared is named in both.
light
unit; good_candidate 1
sed -i 's/n=1..65536/n=1..50000000/; s/n=65536/n=40000000 ; n=65536/' unit.cu cand/1.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "x modelled"
expect_no_err "x ["
dir=$(key_dir)
grep -q '^result  [0-9.]*x, modelled$' "${dir}report.txt" || fail "no modelled result: $(grep ^result "${dir}report.txt")"
if grep -q 'interval\|x \[' "${dir}report.txt"; then fail "an interval of a model: $(grep -m1 'interval\|x \[' "${dir}report.txt")"; fi
if grep -q confidence "${dir}certificate.json"; then fail "the certificate has a confidence"; fi
[ "$(grep -c '^  not compared: .*n=40000000' "${dir}report.txt")" = 1 ] || fail "the report does not name the point that was not compared"
grep -q '^  largest compared: ' "${dir}report.txt" || fail "the report does not say what was compared"
python3 - "${dir}certificate.json" <<'P' || fail "the certificate does not name exactly the point that was not compared"
import json, sys
c = json.load(open(sys.argv[1]))
sys.exit(not ([p["shape"] for p in c["unchecked_points"]] == ["n=40000000"] and c["largest_compared"]["bytes"] > 262144))
P
