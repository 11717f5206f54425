# The store cannot be written: a warning, the search goes on, the object is emitted all the same.
light kept
unit; good_candidate 1
agent --kscc-agent=file:cand --kscc-dir=/proc/nowhere -c unit.cu -o unit.o
expect_status 0
expect_err "/proc/nowhere"
expect_err "searching with a temporary store: nothing will be kept"
expect_err "emitted unit.o"
expect_err "certificate: not kept"
expect_symbol unit.o scale_shift
expect_no_err "report: /"
