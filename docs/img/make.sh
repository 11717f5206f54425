#!/bin/bash
# Pictures of a report in headless Chromium: light, dark, and as wide as a phone.  usage: docs/img/make.sh REPORT.html [OUTDIR]
set -eu
page=$(realpath "${1:?usage: docs/img/make.sh REPORT.html [OUTDIR]}")
out=${2:-$(dirname "$0")}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "docs/img/make.sh: no Chromium here" >&2; exit 77; }
shot() { # shot NAME WIDTH HEIGHT OPTION...
    local name=$1 size=$2,$3
    shift 3
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$size" "$@" --screenshot="$out/$name.png" \
        "file://$page" >/dev/null 2>&1
    [ -s "$out/$name.png" ] || { echo "docs/img/make.sh: no picture $name" >&2; exit 1; }
}
shot report-light 1020 1500
shot report-dark 1020 1500 --blink-settings=preferredColorScheme=0
shot report-narrow 500 1500
