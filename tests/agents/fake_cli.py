#!/usr/bin/env python3
"""A coding agent's command-line program for tests, under the name of a real one: takes its command line by the rules that its public
documentation gives for calls without a terminal, and refuses what they do not know.  Then it does what the task says: reads it,
edits the unit, has it tried by `kscc try`, and prints the status of that."""
import os, re, subprocess, sys

# name: subcommand, options without a value, options with one (and what it may be), operands: what the last words are, what must be there
PROGRAMS = {
    "claude": (None, "-p --print --dangerously-skip-permissions --verbose -c --continue", {"--output-format": "text|json|stream-json", "--input-format": "text|stream-json", "--model": "", "--permission-mode": "acceptEdits|bypassPermissions|default|plan", "--allowedTools": "", "--append-system-prompt": "", "--mcp-config": "", "-r": ""}, "prompt", ["-p|--print"]),
    "codex": ("exec", "--skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --yolo --json --ephemeral", {"--sandbox": "read-only|workspace-write|danger-full-access", "-m": "", "--model": "", "-C": "", "-c": "", "-o": ""}, "prompt", ["--skip-git-repo-check"]),
    "gemini": (None, "-y --yolo -d --debug --skip-trust", {"-p": "", "--prompt": "", "--approval-mode": "default|auto_edit|yolo|plan", "-m": "", "--model": "", "--output-format": "text|json|stream-json"}, "", ["-p|--prompt"]),
    "qwen": (None, "-y --yolo --continue", {"-p": "", "--prompt": "", "--approval-mode": "plan|default|auto-edit|yolo", "-m": "", "--model": "", "--output-format": "text|json|stream-json"}, "", ["-p|--prompt"]),
    "opencode": ("run", "--auto -c --continue", {"-m": "", "--model": "", "--agent": "", "--format": "default|json", "-s": ""}, "prompt", ["--auto"]),
    "cursor-agent": (None, "-p --print -f --force --yolo", {"--output-format": "text|json|stream-json", "--model": "", "--api-key": ""}, "prompt", ["-p|--print", "-f|--force|--yolo"]),
    "goose": ("run", "--no-session -q", {"-i": "", "--instructions": "", "-t": "", "--text": "", "--provider": "", "--model": ""}, "", ["-i|--instructions"]),
    "aider": (None, "--yes-always --no-git --no-check-update --no-analytics --no-auto-lint --no-auto-commits --no-stream", {"--message-file": "", "-f": "", "--message": "", "-m": "", "--model": ""}, "files", ["--message-file|-f", "--yes-always"]),
}


def refuse(why):
    sys.exit("%s: %s" % (name, why))


name = os.path.basename(sys.argv[0])
subcommand, bare, valued, operands, needed = PROGRAMS[name]
words, seen, rest = sys.argv[1:], {}, []
if subcommand and (not words or words.pop(0) != subcommand):
    refuse("no subcommand " + subcommand)
while words:
    word = words.pop(0)
    option, equals, value = word.partition("=")
    if not word.startswith("-"):
        rest.append(word)
    elif word in bare.split():
        seen[word] = True
    elif option in valued:
        seen[option] = value if equals else words.pop(0) if words else refuse(option + " without a value")
        if valued[option] and seen[option] not in valued[option].split("|"):
            refuse("%s=%s" % (option, seen[option]))
    else:
        refuse("unknown option " + word)
for choice in needed:
    if not any(o in seen for o in choice.split("|")):
        refuse("no " + choice)
if name == "claude" and seen.get("--output-format") == "stream-json" and "--verbose" not in seen:
    refuse("stream-json without --verbose")
if name == "gemini" and ("--approval-mode" in seen and ("-y" in seen or "--yolo" in seen) or os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true"):
    refuse("its approval mode is not in force")
if name == "goose" and os.environ.get("GOOSE_MODE") != "auto":
    refuse("it would ask")
if (len(rest) != 1) if operands else rest:
    refuse("operands %s" % rest)
prompt = rest[0] if operands == "prompt" else seen.get("-p") or seen.get("--prompt")
task = seen.get("-i") or seen.get("--message-file")
if prompt:
    task = re.search(r"\S+\.md", prompt).group()
unit = re.search(r"kscc try (\S+\.cu)", open(task).read()).group(1)
if operands == "files" and os.path.realpath(rest[0]) != os.path.realpath(unit):
    refuse("file %s" % rest)
text = open(unit).read()
open(unit, "w").write(text.replace("* 3.0f", "* 3.0f + 1.0f"))
tried = subprocess.run(["kscc", "try", unit, "--layer", "operator-boundary", "--because", "one launch does it", "--predict", "1.6"], capture_output=True, text=True)
print("%s tried: %d\n%s" % (name, tried.returncode, tried.stdout))
