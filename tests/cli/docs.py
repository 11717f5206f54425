"""Runs the commands of README.md and docs/*.md.  usage: docs.py SOURCE_DIR [lint]   (in an empty folder, kscc on PATH)

The rule: a fenced block says its language.  `sh` blocks are commands: each block is run by bash -eu, in a folder of its own for each
page, in the page's order.  A block whose first line is "# not run by a test: REASON" is not.  A block of another language with
file=NAME behind it is written to NAME there, so that a page can show a file and then use it.  In that folder `attention.cu` and `app.cu`
are small stand-ins.  Words in backquotes that begin with "kscc " name commands and options that there are.  lint: the rule alone."""
import glob, os, re, subprocess, sys

source, lint = sys.argv[1], sys.argv[2:] == ["lint"]
LANGUAGES = {"sh", "c", "cuda", "cmake", "toml", "json", "yaml", "text", "make"}
REASON = re.compile(r"# not run by a test: \S+ \S+")
errors, n_run, n_left = [], 0, 0

def say(page, line, text): errors.append(f"{page}:{line}: {text}")

def blocks(page):
    """(line, language, file or None, text) of each fenced block, and the text outside of them."""
    out, outside, open_at = [], [], None
    for n, line in enumerate(open(os.path.join(source, page), encoding="utf8"), 1):
        if line.startswith("```"):
            if open_at is None:
                info = line[3:].split()
                open_at, language, body = n, info[0] if info else "", []
                file = next((w[5:] for w in info[1:] if w.startswith("file=")), None)
                if language not in LANGUAGES: say(page, n, f"a block without a language that is known: '{language}'")
            else:
                out.append((open_at, language, file, "".join(body)))
                open_at = None
        elif open_at is None: outside.append((n, line))
        else: body.append(line)
    if open_at is not None: say(page, open_at, "a block that does not end")
    return out, outside

def known_words():
    commands = dict(re.findall(r'^X\("([a-z-]+)", ks_cmd\w+, "((?:[^"\\]|\\.)*)"', open(source + "/driver/commands.def").read(), re.M))
    options = set(re.findall(r'^X\("(-[^"]+)"', open(source + "/driver/options.def").read(), re.M))
    return commands, options

def check_inline(page, outside):
    commands, options = known_words()
    for n, line in outside:
        for span in re.findall(r"`kscc ([^`]+)`", line):
            words = span.split()
            usage = commands.get(words[0], "")
            if words[0][0] != "-" and words[0] not in commands and not words[0].startswith("nvcc") and words[0] != "COMMAND": say(page, n, f"no command '{words[0]}'")
            for w in words:
                name = w.split("=")[0].rstrip(",.;:)")
                if name.startswith("--kscc-") and name not in options: say(page, n, f"no option '{name}'")
                elif name.startswith("--") and words[0] in commands and name != "--" and not name.startswith("--kscc-") and name not in re.findall(r"--[a-z-]+", usage + " --help"):
                    say(page, n, f"'kscc {words[0]}' takes no '{name}'")

pages = ["README.md"] + sorted("docs/" + os.path.basename(p) for p in glob.glob(source + "/docs/*.md"))
for page in pages:
    found, outside = blocks(page)
    check_inline(page, outside)
    folder = os.path.abspath(os.path.join("work", os.path.basename(page)[:-3].lower()))
    for line, language, file, text in found:
        if file and not lint:
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            with open(os.path.join(folder, file), "w") as f: f.write(text)
        if language != "sh": continue
        if text.startswith("# not run"):
            n_left += 1
            if not REASON.match(text): say(page, line, "no reason why it is not run")
            continue
        n_run += 1
        if lint: continue
        os.makedirs(folder, exist_ok=True)
        for name in ("attention.cu", "app.cu"):
            if not os.path.exists(os.path.join(folder, name)): os.link(name, os.path.join(folder, name))
        try: r = subprocess.run(["bash", "-euc", text], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
        except subprocess.TimeoutExpired: say(page, line, "does not end"); continue
        if r.returncode: say(page, line, f"status {r.returncode} of:\n{text}" + (r.stdout + r.stderr).decode("utf8", "replace")[-1500:])
numbers = os.path.join(source, "docs/NUMBERS.md")
if os.path.exists(numbers):
    text = open(numbers, encoding="utf8").read()
    for name in sorted(os.listdir(source + "/docs/results")):
        if name not in text: say("docs/NUMBERS.md", 1, f"nothing about {name}")
    for script in re.findall(r"`((?:tests|kernels|docs)/[\w/.-]+\.(?:sh|py))\b", text):
        if not os.path.exists(os.path.join(source, script)): say("docs/NUMBERS.md", 1, f"no script {script}")
# README's table of examples says what the committed run says, in its digits
examples = os.path.join(source, "docs/results/examples_h200.tsv")
if os.path.exists(examples):
    measured = {f[0]: float(f[2]) for f in (l.split("\t") for l in open(examples) if not l.startswith(("#", "example\t")))}
    told = re.findall(r"^\| ([\w -]+) \| ([0-9.]+) \|", open(source + "/README.md", encoding="utf8").read(), re.M)
    for name, value in told:
        key = {"elementwise chain": "elementwise", "2-D stencil": "stencil"}.get(name, name)
        digits = len(value.partition(".")[2])
        if key not in measured or f"{measured[key]:.{digits}f}" != value: say("README.md", 1, f"{name}: {value} is not what docs/results/examples_h200.tsv says ({measured.get(key)})")
    if len(told) != len(measured): say("README.md", 1, f"{len(told)} examples of {len(measured)} in docs/results/examples_h200.tsv")
for name in ("README.md", "docs/NUMBERS.md"):
    if not os.path.exists(os.path.join(source, name)): continue
    rows = re.findall(r"^\| ([^|]+) \|", open(os.path.join(source, name), encoding="utf8").read(), re.M)
    for row in sorted({r for r in rows if rows.count(r) > 1 and not r.startswith("-") and r not in ("package", "file")}): say(name, 1, f"two rows for {row}")
print(f"{n_run} blocks of commands run, {n_left} not, each with its reason" if not lint else f"{n_run} blocks of commands, {n_left} not run")
for e in errors: print(e)
sys.exit(1 if errors or n_run < 10 else 0)
