# An agent that fails ends the search; what was verified before is confirmed and emitted, and the next build goes on searching.
light
unit; good_candidate 1; mkdir cand/2.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "the search ends here"
expect_err "search ended (error) after 1 trial"
expect_err "emitted unit.o"
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "was interrupted (error)"
# Nothing found by an agent that failed is not remembered as nothing to find.
rm -r .kscc cand; mkdir -p cand/1.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "search ended (error) after 0 trials"
rmdir cand/1.cu; good_candidate 1
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
