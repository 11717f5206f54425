#!/usr/bin/env python3
"""What the tests cost in processor seconds (user and system, of all that a test waited for), the dearest first.

   cost.py [-R REGEX] [-j JOBS] [-o TABLE] [BUILD]      BUILD: the build folder, default build

Wall-clock times say little where two tests share a machine; these say what a machine has to do.  Each test runs as ctest would run it,
once.  After the table: the sum by the first word of the names, and how well the processors were used.  -o: the table also goes there,
under a head with date and commit.  Status 1 when a test fails: a test that gave up early has cost less than it does.
"""
import argparse, concurrent.futures, datetime, json, os, re, subprocess, sys, tempfile, time
from pathlib import Path

def tests_of(build, pattern):
    listed = json.loads(subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, check=True).stdout)
    for test in listed["tests"]:
        if re.search(pattern, test["name"]) and "command" in test:
            yield {"name": test["name"], "command": test["command"]} | {p["name"]: p["value"] for p in test["properties"]}

def measure(test, build):
    env = dict(os.environ) | dict(pair.split("=", 1) for pair in test.get("ENVIRONMENT", []))
    with tempfile.TemporaryFile() as log:
        begin = time.monotonic()
        p = subprocess.Popen(test["command"], cwd=test.get("WORKING_DIRECTORY", build), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        log.seek(0)
        said = log.read()
    result = "passed" if p.returncode == 0 else "skipped" if p.returncode == test.get("SKIP_RETURN_CODE") else "FAILED"
    if re.search("|".join(test.get("FAIL_REGULAR_EXPRESSION", [])) or r"(?!)", said.decode(errors="replace")):
        result = "FAILED"
    if result == "FAILED":
        sys.stderr.write(f"{test['name']} fails:\n{said[-2000:].decode(errors='replace')}\n")
    sys.stderr.write(f"{use.ru_utime + use.ru_stime:.1f} s\t{test['name']}\t{result}\n")
    return test["name"], use.ru_utime + use.ru_stime, use.ru_stime, wall, result

def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-R", dest="pattern", default="")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    parser.add_argument("-o", dest="out", type=Path)
    parser.add_argument("build", nargs="?", default="build", type=Path)
    args = parser.parse_args()
    build = args.build.resolve()
    tests = sorted(tests_of(build, args.pattern), key=lambda t: -float(t.get("COST", 0)))
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = sorted(pool.map(lambda t: measure(t, build), tests), key=lambda r: -r[1])
    wall = time.monotonic() - begin
    total = sum(r[1] for r in rows)
    lines = ["test\tcpu_s\tof_which_system_s\twall_s\tresult"] + ["%s\t%.1f\t%.1f\t%.1f\t%s" % r for r in rows]
    groups = {}
    for name, cpu, *_ in rows:
        groups[name.split(".")[0]] = groups.get(name.split(".")[0], 0) + cpu
    for line in lines:
        print(line)
    print("\n" + ", ".join(f"{g} {s:.0f}" for g, s in sorted(groups.items(), key=lambda i: -i[1])))
    print(f"{len(rows)} tests, {total:.0f} s of processor time in {wall:.0f} s on {args.jobs} of {os.cpu_count()} processors: {100 * total / (args.jobs * wall):.0f} % used")
    if args.out:
        commit = subprocess.run(["git", "-C", Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        args.out.write_text(f"# tests/cost.py, {datetime.date.today()}, commit {commit}, {os.cpu_count()} CPUs: {len(rows)} tests, {total:.0f} s of processor time, {wall:.0f} s\n"
                            + "\n".join(lines) + "\n")
    return any(r[4] == "FAILED" for r in rows)

sys.exit(main())
