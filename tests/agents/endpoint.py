#!/usr/bin/env python3
"""A model's endpoint for tests, on loopback, standard library only.

usage: endpoint.py PLAY PORT_FILE LOG

PLAY is a Python file with reply(turn, request) -> what the model says; turn counts the requests from 0.  `request` has "model",
"said" (a list of {"role", "text", "calls": [{"id","name","arguments"}], "results": [{"id","text","error"}]}), "tools" (names) and
"headers".  The reply is a dict: "text", "calls" ([(name, arguments)]; arguments may be a text), "usage" ((in, out)), or one of
"raw" (bytes of a whole answer with its head), "status" with "body" and "headers", "drip" (seconds between bytes), "cut" (bytes
of the answer that are sent before the connection closes), "sleep" (seconds before anything), and "turn" (in the calls' ids, instead of the number).

With ENDPOINT_TLS=CERTIFICATE:KEY the port speaks TLS.  It is a proxy as well: whatever host a CONNECT names, it is led to
ENDPOINT_BEHIND (a port here), and LOG gets a line {"connect": "host:port"}.

Both APIs are answered, by path: /v1/chat/completions and /v1/messages, streamed when asked.  LOG gets one JSON line a request.
The port (one of ENDPOINT_PORT's, if that is set) is written to PORT_FILE when the server listens; it ends with its standard input."""
import importlib.util, json, os, select, socket, ssl, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

spec = importlib.util.spec_from_file_location("play", sys.argv[1])
play = importlib.util.module_from_spec(spec)
spec.loader.exec_module(play)
lock, turn = threading.Lock(), 0


def from_openai(body):
    said = []
    for m in body["messages"]:
        if m["role"] == "tool":
            said.append({"role": "tool", "text": "", "calls": [], "results": [{"id": m["tool_call_id"], "text": m["content"], "error": None}]})
            continue
        calls = [{"id": c["id"], "name": c["function"]["name"], "arguments": json.loads(c["function"]["arguments"])} for c in m.get("tool_calls") or []]
        said.append({"role": m["role"], "text": m.get("content") or "", "calls": calls, "results": []})
    return said, [t["function"]["name"] for t in body.get("tools", [])]


def from_anthropic(body):
    said = [{"role": "system", "text": "".join(b["text"] for b in body["system"]), "calls": [], "results": []}]
    for i, m in enumerate(body["messages"]):
        assert m["role"] == ("user" if i % 2 == 0 else "assistant"), "roles must alternate"
        s = {"role": m["role"], "text": "", "calls": [], "results": []}
        for b in m["content"]:
            if b["type"] == "text":
                assert b["text"], "empty text"
                s["text"] += b["text"]
            elif b["type"] == "tool_use":
                s["calls"].append({"id": b["id"], "name": b["name"], "arguments": b["input"]})
            elif b["type"] == "tool_result":
                s["results"].append({"id": b["tool_use_id"], "text": b["content"], "error": b.get("is_error", False)})
        said.append(s)
    return said, [t["name"] for t in body.get("tools", [])]


def check_pairs(said):
    """Every call has its answer right behind it, and every answer its call: what both APIs refuse otherwise."""
    open_calls = set()
    for s in said:
        if s["role"] == "assistant":
            assert not open_calls, "unanswered calls: %s" % open_calls
            open_calls = {c["id"] for c in s["calls"]}
            assert len(open_calls) == len(s["calls"]), "a call id twice"
        for r in s["results"]:
            assert r["id"] in open_calls, "answer without a call: " + r["id"]
            open_calls.discard(r["id"])
        if s["role"] == "user" and s["text"] and not s["results"]:
            assert not open_calls, "the user speaks before the answers"
    assert not open_calls, "unanswered calls at the end: %s" % open_calls


def text_of(arguments):
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def openai_whole(r, n):
    calls = [{"id": "call_%d_%d" % (n, i), "type": "function", "function": {"name": c[0], "arguments": text_of(c[1])}} for i, c in enumerate(r.get("calls", []))]
    message = {"role": "assistant", "content": r.get("text") or None, "reasoning_content": "thinking aloud"}
    if calls:
        message["tool_calls"] = calls
    usage = r.get("usage", (1000, 100))
    return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}


def openai_stream(r, n):
    def chunk(delta, finish=None):
        return "data: " + json.dumps({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"
    out = ": keep-alive\n\n" + chunk({"role": "assistant", "content": ""}) + chunk({"reasoning_content": "thinking aloud"})
    text = r.get("text") or ""
    for i in range(0, len(text), 7):
        out += chunk({"content": text[i:i + 7]})
    for i, c in enumerate(r.get("calls", [])):
        out += chunk({"tool_calls": [{"index": i, "id": "call_%d_%d" % (n, i), "type": "function", "function": {"name": c[0], "arguments": ""}}]})
        arguments = text_of(c[1])
        for k in range(0, len(arguments), 11):
            out += chunk({"tool_calls": [{"index": i, "function": {"arguments": arguments[k:k + 11]}}]})
    usage = r.get("usage", (1000, 100))
    out += chunk({}, "tool_calls" if r.get("calls") else "stop")
    out += "data: " + json.dumps({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}) + "\n\n"
    return out + "data: [DONE]\n\n"


def anthropic_whole(r, n):
    content = [{"type": "thinking", "thinking": "thinking aloud"}]
    if r.get("text"):
        content.append({"type": "text", "text": r["text"]})
    for i, c in enumerate(r.get("calls", [])):
        content.append({"type": "tool_use", "id": "toolu_%d_%d" % (n, i), "name": c[0], "input": json.loads(text_of(c[1]))})
    usage = r.get("usage", (1000, 100))
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use" if r.get("calls") else "end_turn",
            "usage": {"input_tokens": usage[0] - 300, "cache_read_input_tokens": 300, "output_tokens": usage[1]}}


def anthropic_stream(r, n):
    whole, out = anthropic_whole(r, n), ""
    def event(kind, **members):
        return "event: %s\ndata: %s\n\n" % (kind, json.dumps(dict(members, type=kind)))
    out += event("message_start", message={"usage": dict(whole["usage"], output_tokens=1)}) + event("ping")
    for i, b in enumerate(whole["content"]):
        empty = dict(b, **{"text": ""} if b["type"] == "text" else {"input": {}} if b["type"] == "tool_use" else {"thinking": ""})
        out += event("content_block_start", index=i, content_block=empty)
        text = b.get("text") or b.get("thinking") or json.dumps(b.get("input", {}))
        kind = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking"), "tool_use": ("input_json_delta", "partial_json")}[b["type"]]
        for k in range(0, len(text), 11):
            out += event("content_block_delta", index=i, delta={"type": kind[0], kind[1]: text[k:k + 11]})
        out += event("content_block_stop", index=i)
    out += event("message_delta", delta={"stop_reason": whole["stop_reason"]}, usage={"output_tokens": whole["usage"]["output_tokens"]})
    return out + event("message_stop")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        global turn
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        anthropic = self.path.endswith("/messages")
        try:
            body = json.loads(raw.decode("utf-8"))
            said, tools = (from_anthropic if anthropic else from_openai)(body)
            check_pairs(said)
            problem = None
        except Exception as e:  # what a real endpoint would answer with 400
            body, said, tools, problem = {}, [], [], "%s: %s" % (type(e).__name__, e)
        with lock:
            n, turn = turn, turn + 1
            request = {"model": body.get("model"), "said": said, "tools": tools, "headers": dict(self.headers), "body": body, "path": self.path}
            with open(sys.argv[3], "a") as log:
                log.write(json.dumps({"n": n, "problem": problem, "bytes": len(raw), "request": request}) + "\n")
        r = {"status": 400, "body": json.dumps({"error": {"message": "bad request: " + problem}})} if problem else play.reply(n, request)
        self.answer(r, r.get("turn", n), anthropic, bool(body.get("stream")))

    def do_CONNECT(self):
        with lock, open(sys.argv[3], "a") as log:
            log.write(json.dumps({"connect": self.path}) + "\n")
        there = socket.create_connection(("127.0.0.1", int(os.environ["ENDPOINT_BEHIND"])))
        self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        self.close_connection = True
        other = {self.connection: there, there: self.connection}
        while True:
            for s in select.select(list(other), [], [])[0]:
                data = s.recv(65536)
                if not data:
                    return
                other[s].sendall(data)

    def answer(self, r, n, anthropic, stream):
        time.sleep(r.get("sleep", 0))
        if "raw" in r:
            self.send(r["raw"], r)
            return
        kind = "application/json"
        if "status" in r:
            data = r.get("body", "").encode() if isinstance(r.get("body", ""), str) else r["body"]
        elif stream and not r.get("no_stream"):
            data, kind = (anthropic_stream if anthropic else openai_stream)(r, n).encode(), "text/event-stream"
        else:
            data = json.dumps((anthropic_whole if anthropic else openai_whole)(r, n)).encode()
        head = "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n" % (r.get("status", 200), r.get("kind", kind), len(data))
        for name, value in r.get("headers", {}).items():
            head += "%s: %s\r\n" % (name, value)
        self.send(head.encode() + b"\r\n" + data, r)

    def send(self, data, r):
        data = data[:r["cut"]] if "cut" in r else data
        self.close_connection = True
        try:
            if "drip" in r:
                for i in range(len(data)):
                    self.connection.sendall(data[i:i + 1])
                    time.sleep(r["drip"])
            else:
                self.connection.sendall(data)
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("ENDPOINT_PORT", 0))), Handler)
server.daemon_threads = True
server.handle_error = lambda *_: None  # a client that goes away, or does not trust us
if "ENDPOINT_TLS" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*os.environ["ENDPOINT_TLS"].split(":"))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(sys.argv[2] + ".part", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".part", sys.argv[2])
sys.stdin.read()
os._exit(0)
