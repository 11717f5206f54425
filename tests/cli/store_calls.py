# store_calls.py STORE... < strace -f -y: do the stores need nothing that a network file system lacks?  Prints each call that does.
#   - a file gets its name by rename, after fsync, from a name in the same folder; else it only grows (O_APPEND), or nobody has it yet
#   - locks are flock on files of locks/ opened for writing; nothing is mapped for others to see; no hard links
# Left out: index.db (SQLite's, rebuilt from the folders), stats and cache/ (one machine's).
import os, re, sys

stores = [os.path.realpath(s) + "/" for s in sys.argv[1:]]
call = re.compile(r"(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (?!-1|\?)(.*)")
dirty, new, renamed, seen = {}, {}, 0, 0


def inside(path):
    for store in stores:
        rest = path[len(store):] if path.startswith(store) else ""
        if rest and not re.match(r"(index\.db|stats$|cache(/|$))", rest):
            return rest
    return ""


def absolute(name):
    return os.path.join(os.getcwd(), name)


bad = []
for line in sys.stdin:
    m = call.match(line)
    if not m:
        continue
    name, args, result = m.groups()
    files = [f for f in re.findall(r"\d+<([^>]*)>", args)]
    texts = [absolute(t) for t in re.findall(r'"([^"]*)"', args)]
    target = inside(re.sub(r".*<(.*)>.*", r"\1", result)) if name == "openat" else inside(files[0]) if files else ""
    seen += bool(target)
    if name == "openat" and target and re.search("O_WRONLY|O_RDWR", args):
        if target.startswith("locks/") or "O_APPEND" in args:
            continue
        dirty[target] = True
        if "O_EXCL" not in args:
            new[target] = line
    elif name in ("write", "pwrite64") and target:
        if target in dirty:
            dirty[target] = True
    elif name in ("fsync", "fdatasync") and target in dirty:
        dirty[target] = False
    elif name in ("rename", "renameat", "renameat2"):
        a, b = (inside(t) for t in texts[-2:])
        if not a and not b:
            continue
        renamed += 1
        new.pop(a, None)
        if dirty.pop(a, False):
            bad.append("not synchronised: " + line)
        if os.path.dirname(a) != os.path.dirname(b) and not b.startswith("objects/"):
            bad.append("out of another folder: " + line)
    elif name == "unlink" and texts:
        new.pop(inside(texts[-1]), None)
    elif name == "flock" and target and not target.startswith("locks/"):
        bad.append("a lock: " + line)
    elif name == "fcntl" and target and "SETLK" in args:
        bad.append("a lock: " + line)
    elif name == "mmap" and target and "MAP_SHARED" in args:
        bad.append("mapped: " + line)
    elif name in ("link", "linkat") and any(inside(t) for t in texts):
        bad.append("a hard link: " + line)
bad += ["written in place: " + line for line in new.values()]
sys.stdout.writelines(bad)
if seen < 20 or renamed < 5:
    print("hardly anything of the store was seen:", seen, "calls,", renamed, "renamed")
