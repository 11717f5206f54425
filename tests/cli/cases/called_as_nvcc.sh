# By symlink and by copy named nvcc first on PATH: kscc skips itself and finds the real one; messages are nvcc's own.
mkdir link copy copy2
ln -s "$KSCC" link/nvcc
cp "$KSCC" copy/nvcc
cp "$KSCC" copy2/nvcc
"$REAL_NVCC" --version >expected
for dir in link copy; do
  PATH="$PWD/$dir:$PWD/copy2:$PATH" run timeout 20 nvcc --version
  expect_status 0
  expect_same out expected
done
PATH="$PWD/link:$PATH" run nvcc --foo
expect_err "nvcc fatal   : Unknown option '--foo'"
run "$KSCC" "$REAL_NVCC" --version # launcher position
expect_status 0
expect_same out expected
