"""Pictures of a search on a terminal: docs/img/terminal-80.svg and terminal-160.svg, of a real run.

    docs/img/terminal.py KSCC [OUTDIR]

Runs the search of the README's kernel (kscc on the emulated device, the builtin agent) in a terminal of that many columns
(tests/cli/terminal.py) and draws two of its screens: in the middle of the search, and at the end."""
import html, json, os, re, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
kscc = os.path.abspath(sys.argv[1])
out = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else here
WIDE, HIGH = 7.8, 17
COLOUR = {"1": ("font-weight:bold", "#e6edf3"), "2": ("", "#8b949e"), "1;34": ("font-weight:bold", "#79c0ff"), "1;35": ("font-weight:bold", "#d2a8ff"), "1;31": ("font-weight:bold", "#ff7b72"), "1;36": ("", "#76e3ea")}

def draw(rows, top, lines):
    for y, row in enumerate(rows):
        x = 0
        for text, style in row:
            extra, colour = COLOUR.get(style, ("", "#e6edf3"))
            if text.strip():
                lines.append(f'<text x="{12 + x * WIDE:.1f}" y="{top + y * HIGH}" fill="{colour}" style="{extra}" textLength="{len(text) * WIDE:.1f}" xml:space="preserve">{html.escape(text)}</text>')
            x += len(text)

def picture(columns):
    with tempfile.TemporaryDirectory() as folder:
        readme = open(os.path.join(root, "README.md"), encoding="utf8").read()
        with open(os.path.join(folder, "norm.cu"), "w") as f: f.write(re.search(r"```cuda file=norm.cu\n(.*?)```", readme, re.S)[1])
        env = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "MAKELEVEL") and not k.startswith("KSCC_")} | {"TERM": "xterm"}
        subprocess.run([sys.executable, os.path.join(root, "tests/cli/terminal.py"), str(columns), "40", "run.json", "--", kscc, "-O-agent", "--kscc-device=emulated",
                        "-gencode", "arch=compute_90a,code=[compute_90a,sm_90a]", "-c", "norm.cu", "-o", "norm.o"], cwd=folder, env=env, check=True)
        screens = json.load(open(os.path.join(folder, "run.json")))["screens"]
    live = [s for s in screens if re.search(r"stage +trial \d+: gate", s["text"]) and "; best " in s["text"]]
    middle, end = (live or [s for s in screens if "  stage " in s["text"]])[-1], screens[-1]
    command = [["$ kscc -O-agent -c norm.cu -o norm.o", "2"]]
    lines, height = [], 0
    strip = lambda rows: [r for i, r in enumerate(rows) if any(t.strip() for t, _ in r)]
    for label, s in ((f"after {middle['s']:.0f} s", middle), (f"after {end['s']:.0f} s", end)):
        rows = [[[label, "2"]], command] + strip(s["pieces"])
        draw(rows, height + 24, lines)
        height += len(rows) * HIGH + 18
    width = 24 + columns * WIDE
    with open(os.path.join(out, f"terminal-{columns}.svg"), "w", encoding="utf8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height + 12}" viewBox="0 0 {width:.0f} {height + 12}">'
                f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/><g font-family="ui-monospace,DejaVu Sans Mono,monospace" font-size="13">\n' + "\n".join(lines) + "\n</g></svg>\n")

for columns in (80, 160): picture(columns)
