# Every test that tests/REQUIREMENTS.md names exists, and no id is given twice.
cd "$SRC" || exit 1
list=tests/REQUIREMENTS.md n=0
for name in $(grep '^| R-' $list | grep -oE '`[a-z]+\.[A-Za-z0-9_]+(:[a-z0-9_]+)?`' | tr -d '`'); do
  n=$((n + 1))
  case $name in
  cli.*) [ -e "tests/cli/cases/${name#cli.}.sh" ] ;;
  unit.*:*) file=${name#unit.}; grep -q "^TEST(${name#*:})" "tests/unit/${file%%:*}.c" ;;
  unit.*) [ -e "tests/unit/${name#unit.}.c" ] || grep -q "NAME $name " tests/*/CMakeLists.txt ;;
  zoo.*) [ -d "tests/zoo/${name#zoo.}" ] ;; # its tests have the name, or the name with what part they are
  fuzz.*) [ -e "tests/fuzz/fuzz_${name#fuzz.}.c" ] || grep -q "NAME $name " tests/fuzz/CMakeLists.txt ;;
  recheck.*) [ -e "tests/recheck/${name#recheck.}.cpp" ] ;;
  emulated.*) [ -e "tests/emulated/test_${name#emulated.}.c" ] || grep -q "NAME $name " tests/emulated/CMakeLists.txt ;;
  *) grep -q "NAME $name " "tests/${name%%.*}/CMakeLists.txt" ;;
  esac || fail "$list names a test that is not there: $name"
done
[ "$n" -gt 20 ] || fail "only $n tests were found in $list"
twice=$(grep -oE '^\| R-[A-Z]+-[0-9]+' $list | sort | uniq -d)
[ -z "$twice" ] || fail "given twice: $twice"
