"""raw.py KSCC SOURCE_DIR: kscc mcp by messages written out by hand: both eras of the protocol, wrong order, wrong messages, broken
pipes, cancellation.  No package is needed."""
import glob
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time

import unit

kscc, src = sys.argv[1:3]
folder, text = unit.make(src)
with open(os.path.join(folder, "unit.cu"), "ab") as f:  # a source need not be UTF-8, messages are
    f.write(b"// caf\xe9\n")
text += "// caf?\n"
failures = 0
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print(f"line {sys._getframe(1).f_lineno}: failed: {str(what)[:600]}")


class Server:
    def __init__(self, *args):
        self.p = subprocess.Popen([kscc, "mcp", *args], cwd=folder, env=unit.environment(), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.buffer = b""
        self.notes = []

    def raw(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def line(self, seconds=240):
        """The next message; None: none came."""
        end = time.time() + seconds
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.p.stdout], [], [], max(0, end - time.time()))
            chunk = os.read(self.p.stdout.fileno(), 1 << 16) if ready else b""
            if not chunk:
                return None
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0", message
        return message

    def answer(self, seconds=240):
        """The next message that is no notification."""
        while True:
            message = self.line(seconds)
            if message is None or "id" in message:
                return message
            self.notes.append(message)

    def ask(self, id, method, params=None, seconds=240):
        self.send(id=id, method=method, **({} if params is None else {"params": params}))
        message = self.answer(seconds)
        check(message and message["id"] == id, (method, message))
        return message or {}

    def error(self, id, method, params=None):
        return self.ask(id, method, params).get("error", {}).get("code")

    def close(self):
        self.p.stdin.close()
        return self.p.wait(30)


def handshake(*args):
    s = Server(*args)
    s.ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    s.send(method="notifications/initialized")
    return s


def call(s, id, name, arguments=None, modern=False, token=None, seconds=240):
    params = {"name": name, "arguments": arguments or {}}
    meta = dict(MODERN) if modern else {}
    if token is not None:
        meta["progressToken"] = token
    if meta:
        params["_meta"] = meta
    return s.ask(id, "tools/call", params, seconds).get("result", {})


# ---- the handshake, and what comes before it -------------------------------------------------------------------------------------
s = Server()
check(s.error(1, "tools/list") == -32600, "a request before initialize")
check(s.error("a", "initialize", {}) == -32602, "initialize without a version")
r = s.ask(2, "initialize", {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})["result"]
check(r["protocolVersion"] == "2025-11-25" and r["serverInfo"]["name"] == "kscc" and "tools" in r["capabilities"], r)
check("resultType" not in r, "a member of another era")
s.send(method="notifications/initialized")
s.send(method="notifications/unknown")
check(s.ask(3, "ping")["result"] == {}, "ping")
check(s.error(4, "server/discover") == -32601, "another era's method")
check(s.error(5, "tools/list", {"_meta": MODERN}) == -32600, "an envelope after initialize")

# ---- messages that are none --------------------------------------------------------------------------------------------------------
for data, code in ((b"{not json\n", -32700), (b"[]\n", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
                   (b'"text"\n', -32600), (b'{"id":1,"method":"ping"}\n', -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
                   (b'{"jsonrpc":"2.0","id":1}\n', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}\n', -32600),
                   (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600), (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
                   (b"\xff\xfe\x00\n", -32700)):
    s.raw(data)
    m = s.answer()
    check(m and m.get("error", {}).get("code") == code, (data, m))
s.raw(b'\n  \n{"jsonrpc":"2.0","id":77,"result":{}}\n')  # blank lines and answers to nothing: silence
check(s.error(6, "frobnicate") == -32601, "unknown method")
check(s.error(7, "tools/call", {"name": "frobnicate"}) == -32602, "unknown tool")
check(s.error(8, "tools/call", {}) == -32602, "no tool")
check(s.error(9, "tools/call", {"name": "best", "arguments": [1]}) == -32602, "arguments are no object")
check(s.error(10, "tools/list", {"cursor": "x"}) == -32602, "no such page")
check(s.error(11, "resources/read", {"uri": "kscc://bank/../../etc/passwd"}) == -32002, "outside of the bank")
check(s.error(12, "resources/read", {"uri": "file:///etc/passwd"}) == -32002, "not ours")
check(s.error(13, "resources/read", {}) == -32602, "no uri")

# ---- no unit, a wrong one, wrong arguments -----------------------------------------------------------------------------------------
r = call(s, 20, "best")
check(r.get("isError") and "analyze" in r["content"][0]["text"], r)
for i, arguments in enumerate(({"file": "nothere.cu"}, {"file": "--serve"}, {"file": 7}, {"options": ["-O2"]}, {"file": "unit.cu", "options": [7]},
                               {"file": "unit.cu", "entry": "nosuch"}, {"file": "unit.cu", "options": ["-DA"] * 300000})):
    r = call(s, 30 + i, "analyze", arguments)
    check(r.get("isError") and r["content"][0]["text"], (arguments, r))

# ---- noise: whatever comes, an answer is JSON-RPC and the next request gets its own -------------------------------------------------
seeds = [b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % i for i in (b"12345678901234567890123", b"-9007199254740993", b"1e308", b"1.5", b'"\\ud800"', b'"a\\u0000b"', b'"' + b"x" * 100000 + b'"')]
seeds += [b'{"jsonrpc":%s,"id":1,"method":"ping"}' % v for v in (b'"1.0"', b"2.0", b"2", b"null", b"[]")]
seeds += [b"[" * 100000, b'{"a":' * 5000 + b"1" + b"}" * 5000, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"best","arguments":{"\xff":"\xc0\x80"}}}',
          b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7]', b'{"jsonrpc":"2.0","id":1,"method":"\x1b[2J\xff"}', b"\0" * 1000,
          b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}', b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
          b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}', b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"kscc://bank/%s"}}' % (b"../" * 5000)]
dice = random.Random(20260728)
for i in range(300):
    line = bytearray(seeds[i] if i < len(seeds) else dice.choice(seeds)[:4000])
    for _ in range(0 if i < len(seeds) else dice.randrange(1, 6)):
        line[dice.randrange(len(line))] = dice.choice(b'{}[]",:\\\x00\xff0e-n')
    line = bytes(line).replace(b"\n", b" ")
    cut = dice.randrange(len(line))
    s.raw(line[:cut])
    s.raw(line[cut:] + b"\n")
    s.send(id="after %d" % i, method="ping")
    for _ in range(4):  # a line has one answer, or none
        m = s.answer()
        if m is None or m.get("id") == "after %d" % i:
            break
        check("error" in m or "result" in m, m)
    check(m and m.get("id") == "after %d" % i and m.get("result") == {}, (line[:200], m))
for i in (0, 7, -3, 2**31, 2**53 - 1, "", "7", "\u00e9" * 1000):  # an id comes back as it was
    check(s.ask(i, "ping").get("result") == {}, i)
s.raw(b'{"jsonrpc":"2.0","id":99,"method":"ping"}')  # half a line is none
check(s.close() == 0, "status at the end of stdin")

# ---- the era of envelopes; a whole round ---------------------------------------------------------------------------------------------
s = Server()
check(s.error(1, "server/discover", {"_meta": {**MODERN, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}}) == -32022, "a version of later")
r = s.ask(2, "server/discover", {"_meta": MODERN})["result"]
check(r["supportedVersions"] == ["2026-07-28"] and r["resultType"] == "complete" and "ttlMs" in r and r["cacheScope"] == "private", r)
check(r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "kscc", r)
m = s.ask(3, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
check(m.get("error", {}).get("code") == -32022 and m["error"]["data"]["supported"] == ["2026-07-28"], m)
check(s.error(4, "tools/list") == -32602, "no envelope")
check(s.error(5, "ping", {"_meta": MODERN}) == -32601, "ping is gone in this era")
tools = {t["name"]: t for t in s.ask(6, "tools/list", {"_meta": MODERN})["result"]["tools"]}
for name in ("analyze", "ask", "state_hypothesis", "evaluate", "profile", "best", "history", "report", "edit", "read"):
    check(name in tools and tools[name]["inputSchema"]["type"] == "object", name)
check("shell" not in tools, "a shell is on offer")

r = call(s, 8, "analyze", {"file": "unit.cu", "options": ["-O2"]}, True)
check(r["structuredContent"]["entry"] == "scale_shift" and r["structuredContent"]["hypotheses"], r)
check(json.loads(r["content"][0]["text"]) == r["structuredContent"], "text and structure differ")
old, new = unit.WRONG
check(not call(s, 10, "edit", {"old": old, "new": new}, True).get("isError"), "edit")
r = call(s, 11, "evaluate", {}, True)
check(r.get("isError") and "state_hypothesis" in r["content"][0]["text"] and "structuredContent" not in r, r)
r = call(s, 12, "state_hypothesis", {"layer": "everywhere", "hypothesis": "x", "predicted_speedup": 1.5}, True)
check(r.get("isError"), r)
r = call(s, 13, "state_hypothesis", {"layer": "compute", "hypothesis": "wrong on purpose", "predicted_speedup": 1.5}, True)
check(not r.get("isError"), r)
r = call(s, 14, "evaluate", {}, True, token="t14")
check(r["structuredContent"]["outcome"] == "rejected" and r["structuredContent"]["failed_gate"] == "numerics", r)
told = [n["params"] for n in s.notes if n["method"] == "notifications/progress"]
check(told and all(p["progressToken"] == "t14" for p in told), told)
check([p["progress"] for p in told] == sorted({p["progress"] for p in told}), "progress does not grow")

# ---- cancellation: of a trial under way, of one that waits, of nothing -------------------------------------------------------------
s.ask(20, "tools/call", {"name": "edit", "arguments": {"text": text.replace(*unit.HANG)}, "_meta": MODERN})
s.ask(21, "tools/call", {"name": "state_hypothesis", "arguments": {"layer": "compute", "hypothesis": "hangs", "predicted_speedup": 1.1}, "_meta": MODERN})
s.send(id=22, method="tools/call", params={"name": "evaluate", "arguments": {}, "_meta": {**MODERN, "progressToken": 22}})
while True:  # the trial has begun
    m = s.line()
    if m is None or "hypothesis" in m.get("params", {}).get("message", ""):
        break
s.send(id=23, method="tools/call", params={"name": "history", "arguments": {}, "_meta": MODERN})
s.send(method="notifications/cancelled", params={"requestId": 23})
s.send(method="notifications/cancelled", params={"requestId": 4711})
began = time.time()
s.send(method="notifications/cancelled", params={"requestId": 22, "reason": "changed my mind"})
r = call(s, 24, "history", {}, True)  # by another process, that knows everything
check(time.time() - began < 100, "a cancelled trial went on")
check(len(r["structuredContent"]["trials"]) == 1, r)
check(s.ask(25, "resources/read", {"uri": "kscc://source/original", "_meta": MODERN})["result"]["contents"][0]["text"] == text, "original")

# ---- the engine dies: one call fails, the next works ---------------------------------------------------------------------------------
children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(s.p.pid)], capture_output=True, text=True).stdout.split("\n")
engines = [int(line.split()[0]) for line in children if "--serve" in line]
check(len(engines) == 1, children)
os.kill(engines[0], signal.SIGKILL)
time.sleep(0.5)
r = call(s, 30, "best", {}, True)
check("structuredContent" in r or r.get("isError"), r)
r = call(s, 31, "best", {}, True)
check(r["structuredContent"]["candidate"] == 0, r)

# ---- kill -9 behind an answer: what was answered is not lost; then stdin ends in the middle of a trial -------------------------------
s.ask(40, "tools/call", {"name": "edit", "arguments": {"text": text.replace(*unit.HANG)}, "_meta": MODERN})
s.ask(41, "tools/call", {"name": "state_hypothesis", "arguments": {"layer": "compute", "hypothesis": "hangs", "predicted_speedup": 1.1}, "_meta": MODERN})
s.p.kill()
s.p.wait(30)
s = handshake("unit.cu", "-O2")
r = call(s, 1, "history")
check(len(r["structuredContent"]["trials"]) == 1, r)
s.send(id=2, method="tools/call", params={"name": "evaluate", "arguments": {}, "_meta": {"progressToken": 2}})
while True:  # text and statement are there: the trial has begun
    m = s.line()
    check(m and "id" not in m, m)
    if m is None or "id" in m or "hypothesis" in m["params"].get("message", ""):
        break
began = time.time()
check(s.close() == 0 and time.time() - began < 60, "the end of stdin")
journal = glob.glob(os.path.join(folder, ".kscc/sittings/*/journal.jsonl"))
check(len(journal) == 1 and open(journal[0]).read().count("\n") == 1, "the trial that was called off was recorded, or the first was lost")
s = handshake("unit.cu", "-O2")
s.send(id=1, method="tools/call", params={"name": "history", "arguments": {}})
s.p.send_signal(signal.SIGTERM)
check(s.p.wait(30) == 0, "SIGTERM")
check(subprocess.run([kscc, "mcp", "--kscc-budget=nonsense"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 2, "a wrong switch")

shutil.rmtree(folder)
print(f"{failures} checks failed")
sys.exit(failures != 0)
