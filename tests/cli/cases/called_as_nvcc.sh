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
# A compiler cache under nvcc's name runs the next nvcc on PATH, which is kscc: kscc passes it over, wherever it stands; alone it is nvcc.
mkdir cache
printf '#!/bin/bash\nIFS=:\nfor d in $PATH; do [ "$d/nvcc" -ef "$0" ] || [ ! -x "$d/nvcc" ] || { echo cache >>"%s/ran"; exec "$d/nvcc" "$@"; }; done\n' "$PWD" >cache/ccache
chmod +x cache/ccache; ln -s ccache cache/nvcc
for path in "$PWD/link:$PWD/cache" "$PWD/cache:$PWD/link"; do
  PATH="$path:$PATH" run timeout 20 nvcc --version
  expect_status 0
  expect_same out expected
done
[ "$(cat ran)" = cache ] || fail "the cache ran $(wc -l <ran) times, not once, before kscc"
PATH="$PWD/cache:$PATH" run timeout 20 "$KSCC" --version
expect_same out expected
[ "$(wc -l <ran)" = 2 ] || fail "a cache on PATH before nvcc was passed over although it does not lead back here"
PATH="$PWD/link:$PATH" run nvcc --foo
expect_err "nvcc fatal   : Unknown option '--foo'"
run "$KSCC" "$REAL_NVCC" --version # launcher position
expect_status 0
expect_same out expected
