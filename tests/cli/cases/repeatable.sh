# The same search twice on the emulated device: certificate and trace are equal byte for byte.
for i in 1 2; do
  mkdir -p run$i; cd run$i
  unit
  agent --kscc-budget=trials:4 -O2 -c unit.cu -o unit.o
  expect_status 0
  cd ..
done
expect_same run1/err run2/err
a=$(cd run1 && key_dir) b=$(cd run2 && key_dir)
[ "$a" = "$b" ] || fail "keys differ: $a $b"
for f in trace.jsonl journal.jsonl; do expect_same "run1/$a$f" "run2/$b$f"; done
for f in certificate.json outcome.json; do [ ! -e "run1/$a$f" ] || expect_same "run1/$a$f" "run2/$b$f"; done
