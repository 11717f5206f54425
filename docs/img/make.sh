#!/bin/bash
# Pictures of a report in headless Chromium, each of the whole page: light, dark, and as wide as a phone.
#
#   docs/img/make.sh REPORT.html [OUTDIR]
#   docs/img/make.sh KSCC [OUTDIR]            of a search that it makes itself: README's kernel, on the emulated device
set -eu
usage="usage: docs/img/make.sh REPORT.html|KSCC [OUTDIR]"
page=$(realpath "${1:?$usage}")
here=$(cd "$(dirname "$0")" && pwd)
out=${2:-$here}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "docs/img/make.sh: no Chromium here" >&2; exit 77; }
T=$(mktemp -d) && trap 'rm -rf "$T"' EXIT
if [ -x "$page" ]; then
    kscc=$page
    sed -n '/^```cuda file=norm.cu$/,/^```$/{/^```/d;p}' "$here/../../README.md" >"$T/norm.cu"
    (cd "$T" && "$kscc" -O-agent --kscc-device=emulated -gencode 'arch=compute_90a,code=[compute_90a,sm_90a]' -c norm.cu -o norm.o && "$kscc" report >report.txt)
    page=$(ls "$T"/.kscc/objects/*/report.html)
fi
chromium() { "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files "$@"; }
# shot NAME WIDTH OPTION...: in a frame of that width, because a window has at least 500; as high as the page, which the title tells
shot() {
    local name=$1 width=$2 high
    shift 2
    frame() { cat >"$T/frame.html" <<F
<body style="margin:0"><iframe src="file://$page" width=$width height=$1 style="border:0;display:block"
onload="document.title = 'high ' + contentDocument.documentElement.scrollHeight"></iframe></body>
F
    }
    frame 600
    high=$(chromium --window-size="$width,600" --dump-dom "file://$T/frame.html" 2>/dev/null | sed -n 's|.*<title>high \([0-9]*\)</title>.*|\1|p')
    frame "${high:-3000}"
    chromium --window-size="$width,${high:-3000}" "$@" --screenshot="$out/$name.png" "file://$T/frame.html" >/dev/null 2>&1
    [ -s "$out/$name.png" ] || { echo "docs/img/make.sh: no picture $name" >&2; exit 1; }
}
shot report-light 1020
# of a search on a card, where this is given a program: what `kernels/flash_attention/trace/` keeps of an H200
card() {
    local page
    tar -xJf "$here/../../kernels/flash_attention/trace/sitting_h200.tar.xz" -C "$T"
    "$kscc" report --kscc-dir="$T/s/store" >"$T/report.txt"
    page=$(ls "$T"/s/store/objects/*/report.html)
    shot report-h200 1020
}
[ -z "${kscc:-}" ] || card
shot report-dark 1020 --blink-settings=preferredColorScheme=0
shot report-narrow 390
