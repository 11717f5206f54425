# Help, manual page and completions come from the tables and agree with them.
[ -e "$SRC/driver/options.def" ] || fail "no table"
options=$(sed -nE 's/^X\("(--kscc-[a-z-]+|-O-agent)".*/\1/p' "$SRC/driver/options.def")
commands=$(sed -nE 's/^X\("([a-z-]+)", ks_cmd.*/\1/p' "$SRC/driver/commands.def")
[ "$(echo "$options" | wc -l)" -gt 15 ] || fail "only these options were found: $options"
run "$KSCC" help; expect_status 0; cp out help.txt
run "$KSCC" --kscc-help; expect_same out help.txt
run "$KSCC" help --man; expect_status 0; cp out kscc.1
for shell in bash zsh fish; do run "$KSCC" help --completion=$shell; expect_status 0; cp out $shell.txt; done
for name in $options; do
  run "$KSCC" help "$name"; expect_status 0; grep -q -- "^$name" out || fail "help $name begins with: $(head -1 out)"
  grep -qF -- "$(echo "$name" | sed 's/-/\\-/g')" kscc.1 || fail "the manual page lacks $name"
  bare=${name#-}; bare=${bare#-}
  for shell in bash zsh; do grep -qF -- "$name" $shell.txt || fail "$shell's completion lacks $name"; done
  grep -qF -- "'$bare'" fish.txt || fail "fish's completion lacks $name"
done
for name in $commands; do
  run "$KSCC" help "$name"; expect_status 0; grep -q "^kscc $name" out || fail "help $name begins with: $(head -1 out)"
  for shell in bash zsh fish; do grep -qE "[ ']$name[' \"[]" $shell.txt || fail "$shell's completion lacks $name"; done
done
run "$KSCC" help contract; grep -q '^# ' out || fail "help contract holds no manual"
run "$KSCC" help ask-nobody; expect_status 1; expect_err "nothing is known about 'ask-nobody'"
run "$KSCC" help ../README; expect_status 1
run "$KSCC" help --completion=tcsh; expect_status 2
run "$KSCC" help a b; expect_status 2
cat >complete.sh <<'B'
. ./bash.txt
try() { COMP_LINE=$1 COMP_POINT=${#1} COMP_CWORD=$2; COMPREPLY=(); _kscc; echo "${COMPREPLY[*]}"; }
[ "$(try 'kscc --kscc-po' 1)" = --kscc-policy= ] && [ "$(try 'kscc --kscc-policy=ap' 2)" = approved ] && [ "$(try 'kscc rep' 1)" = report ] &&
  [ "$(try 'kscc -c --generate-c' 2)" = --generate-code ] && [ "$(COMP_WORDBREAKS=' '; try 'kscc --kscc-policy=ap' 1)" = --kscc-policy=approved ] &&
  [ "$(try 'kscc report --' 2)" = '--json --junit --all --kscc-dir=' ] && [ "$(try 'kscc store ver' 2)" = verify ] && [ "$(try 'kscc memory m' 2)" = merge ] &&
  [ "$(try 'kscc try x.cu --bec' 3)" = --because ] && [ "$(try 'kscc try x.cu --as' 3)" = --ask= ] && [ "$(try 'kscc analyze x.cu --generate-c' 3)" = --generate-code ] &&
  [ "$(try 'kscc help bench' 2)" = bench-harness ] && [ "$(try "$KSCC explain kscc-numer" 2)" = kscc-numerics ]
B
bash complete.sh || fail "bash does not complete"
for shell in zsh fish; do ! command -v $shell >/dev/null || $shell -n $shell.txt || fail "$shell does not read its completion"; done
# in the shells themselves, where they are
if command -v fish >/dev/null; then
  fish --no-config -c 'source fish.txt; complete -C "kscc --kscc-po"; complete -C "kscc --kscc-policy=ap"; complete -C "kscc rep"; complete -C "kscc report --ju"; complete -C "kscc store ver"' >fish.out 2>&1
  for word in --kscc-policy= --kscc-policy=approved report --junit verify; do grep -q -- "^$word" fish.out || fail "fish does not complete $word: $(head -5 fish.out)"; done
fi
if command -v zsh >/dev/null; then
  mkdir -p zfunc; cp zsh.txt zfunc/_kscc; (cd zfunc && timeout 100 python3 "$SRC/tests/cli/complete_zsh.py") >zsh.out 2>&1; [ ! -s zsh.out ] || fail "$(cat zsh.out)"
fi
for page in kscc.1 "$(dirname "$KSCC")"/../help/man[57]/*; do # what whatis(1) reads
  [ ! -e "$page" ] || grep -A1 '^\.SH NAME' "$page" | grep -qE '^kscc[a-z-]* \\- [a-z]' || fail "$page has no NAME: $(head -5 "$page")"
done
for page in kscc.1 "$(dirname "$KSCC")"/../help/man*/*; do
  [ -e "$page" ] || continue
  groff -I "$(dirname "$page")/.." -t -man -ww -W break -rLL=140n -z -Tutf8 "$page" 2>warnings
  [ ! -s warnings ] || fail "$page: $(head -3 warnings)"
done
# --json everywhere: each command that tells something, but for those that ask a person, run something, or say JSON or a diff or a manual anyway
sed -nE 's/^X\("([a-z-]+)", ks_cmd\w+, "(([^"\\]|\\.)*)".*/\1 \2/p' "$SRC/driver/commands.def" | grep -v -- --json | cut -d' ' -f1 >silent
printf '%s\n' approve bench-harness help interactive mcp memory optimize revoke run shim >allowed
expect_same silent allowed
