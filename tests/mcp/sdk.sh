#!/usr/bin/env bash
# usage: sdk.sh KSCC SOURCE_DIR SDK_DIR: checks kscc mcp with the official Python SDK, brought into SDK_DIR by pip the first time.
set -u
kscc=$1 src=$2 sdk=$3
version=2.3.0
if [ ! -e "$sdk/.complete-$version" ]; then
  rm -rf "$sdk"
  python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --target "$sdk" "mcp==$version" >"$sdk.log" 2>&1 || {
    echo "SKIP: pip could not bring mcp $version: $(tail -1 "$sdk.log")"
    exit 77
  }
  touch "$sdk/.complete-$version"
fi
PYTHONPATH=$sdk exec python3 "$src/tests/mcp/sdk.py" "$kscc" "$src"
