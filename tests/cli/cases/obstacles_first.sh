# What cannot be emitted is not searched: said at once.
unit; good_candidate 1
echo 'int calls;' >>unit.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "keeps host state between calls: variable 'calls', which two versions cannot share"
expect_no_err "trial 1"
unit
agent --kscc-agent=file:cand -c unit.cu -o /dev/null
expect_status 0
expect_err "cannot replace '/dev/null': not a regular file"
expect_no_err "trial 1"
