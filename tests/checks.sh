# For scripts that check one thing after the other: sourced.  A scratch folder $work, and counts for the closing line.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check() { # check NAME STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED $1"; fi
}
