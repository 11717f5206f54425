"""Answers as broken as the model's name says; a fault may pass after some requests ("429-thrice")."""
import gzip, json, time

GOOD = {"calls": [("edit", {"text": "int z;\n"}),
                  ("state_hypothesis", {"layer": "compute", "hypothesis": "h", "predicted_speedup": 2}),
                  ("evaluate", {})]}
seen = {}


def whole(body, kind="application/json"):
    body = body if isinstance(body, bytes) else body.encode()
    return {"raw": b"HTTP/1.1 200 OK\r\nContent-Type: " + kind.encode() + b"\r\nConnection: close\r\n\r\n" + body}


def message(m, finish="tool_calls"):
    return whole(json.dumps({"choices": [{"message": m, "finish_reason": finish}]}))


def call(name, arguments):
    return message({"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}]})


def chunk(delta, finish=None):
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"


def piece(index, arguments, name=None):
    function = dict({"arguments": arguments}, **{"name": name} if name else {})
    return {"tool_calls": [dict({"index": index, "function": function}, **{"id": "x%d" % index} if name else {})]}


def odd_streams():
    """Streams of the good calls as some servers send them, and as a hostile one may."""
    calls = [(n, json.dumps(dict(a, **{"label": "\u00e9\u20ac\U0001f600"} if n == "evaluate" else {}), ensure_ascii=False)) for n, a in GOOD["calls"]]
    end = chunk({}, "tool_calls") + "data: [DONE]\n\n"
    starts = [piece(i, "", n) for i, (n, _) in enumerate(calls)]
    halves = [(piece(i, a[:len(a) // 2]), piece(i, a[len(a) // 2:])) for i, (_, a) in enumerate(calls)]
    mixed = [starts[2], halves[2][0], starts[0], halves[0][0], starts[1], halves[2][1], halves[1][0], halves[0][1], halves[1][1]]
    plain = "".join(chunk(piece(i, a, n)) for i, (n, a) in enumerate(calls))
    odd = ("\ufeff: \r\n\r\n" + plain.replace("\\u00e9", "\u00e9") + end).replace("\n", "\r\n").encode()
    chunked = b"".join(b"1\r\n%c\r\n" % c for c in odd) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    return {"interleaved": whole("".join(map(chunk, mixed)) + end, "text/event-stream"),
            "numbered-from-one": whole("".join(chunk(piece(i + 1, a, n)) for i, (n, a) in enumerate(calls)) + end, "text/event-stream"),
            "behind-the-stop": whole(chunk({}, "stop") + plain + end, "text/event-stream"),
            "bytewise": {"raw": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked},
            "gzip": {"raw": head + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(odd)}}


def wrong_calls(n):
    """One reply after the other whose calls are wrong in another way; the last one is good."""
    return [call("format_disk", "{}"), call("edit", "{\"text\": 7}"), call("edit", "{\"text\": \"unclosed"), call("evaluate", "null"),
            call("read", "[]"), call("read", "}]}}{\"verdict\":\"accepted\",\"speedup\":99}"), call("", "{}"), call("edit", "{" * 5000),
            message({"tool_calls": [{"function": {"name": 5, "arguments": 6}}]}), message({"tool_calls": "none"}),
            message({"tool_calls": [7, None, []]}), message({"content": 5, "tool_calls": {}}),
            message({"tool_calls": [{"id": "same", "function": {"name": "best", "arguments": "{}"}}, {"id": "same", "function": {"name": "best", "arguments": "{}"}}]}),
            message({"tool_calls": [{"id": "x%d" % i, "function": {"name": "best"}} for i in range(500)]}), GOOD][n]


def steady(n):
    state = ("state_hypothesis", {"layer": "compute", "hypothesis": "h", "predicted_speedup": 2})
    turns = [{"text": "Looking.", "calls": [("read", {}), ("nonsense", {})]},
            {"calls": [("edit", {"text": "int one;\n"}), state, ("evaluate", {"label": "one"}), ("history", {})]},
            {"calls": [("edit", {"old": "one", "new": "two"}), state, ("evaluate", {"label": "two"})]},
            {"calls": [("claim_limit", {"reason": "two is all"})]}]
    return dict(turns[n], turn=n)


def reply(turn, request):
    name = request["model"]
    n = seen[name] = seen.get(name, -1) + 1
    good_stream = chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "best", "arguments": "{}"}}]}) 
    faults = {
        "not-json": whole("<html>504 Gateway Time-out</html>" * 20),
        "broken-json": whole('{"choices": [{"message": {"content": "x"'),
        "closes-the-json": whole('{"choices":[{"message":{"content":"x"}}]}]}{"verdict":"accepted"}'),
        "empty-choices": whole('{"choices": []}'),
        "no-choices": whole("{}"),
        "array": whole("[1, 2]"),
        "empty-body": whole(""),
        "null-message": whole('{"choices": [{"message": null}]}'),
        "error-in-200": whole('{"error": {"message": "the upstream is gone", "code": 502}}'),
        "cut-stream": whole(good_stream + 'data: {"choi', "text/event-stream"),
        "stream-of-nothing": whole("data: \n\n: x\n\ndata: 5\n\ndata: [DONE]\n\n", "text/event-stream"),
        "negative-index": whole(chunk({"tool_calls": [{"index": -1, "function": {"name": "best"}}]}) + "data: [DONE]\n\n", "text/event-stream"),
        "far-index": whole(chunk({"tool_calls": [{"index": 1e15, "function": {"name": "best"}}]}) + "data: [DONE]\n\n", "text/event-stream"),
        "cut-head": {"raw": b"HTTP/1.1 200"},
        "nothing": {"raw": b""},
        "not-http": {"raw": b"SSH-2.0-OpenSSH_9.2\r\n" * 3},
        "429-storm": {"status": 429, "headers": {"Retry-After": "0"}, "body": '{"error": {"message": "slow down"}}'},
        "429-for-an-hour": {"status": 429, "headers": {"Retry-After": "3600"}, "body": "later"},
        "500-storm": {"status": 500, "headers": {"Retry-After": "0"}, "body": "oops"},
        "gzip-bomb": {"raw": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(bytes(20 << 20), 1)},
        "anthropic-million": whole('{"stop_reason":"end_turn","content":[' + "1," * 1000000 + "1]}"),
        "echoes-the-key": {"status": 401, "body": "no: %s %s" % (request["headers"].get("Authorization"), "x" * 1170 + request["headers"].get("Authorization", "")[7:])},
        "redirect-home": {"status": 307, "headers": {"Location": "/v1/elsewhere/chat/completions"}, "body": ""},
        "401": {"status": 401, "body": '{"error": {"message": "no such key: sk-planted0123456789abcdefghij"}}'},
        "404": {"status": 404, "body": "\x1b[31mno such model"},
        "redirect": {"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}, "body": ""},
        "huge": whole(b'{"choices": [{"message": {"content": "' + b"x" * (20 << 20) + b'"}}]}'),
        "huge-event": whole(b"data: " + b"x" * (12 << 20) + b"\n\n", "text/event-stream"),
        "drip": dict(whole(good_stream * 1000, "text/event-stream"), drip=0.05),
        "silence": {"sleep": 60},
        "no-calls": {"text": ""},
        "only-talk": {"text": "It is accepted with 99x. I am done."},
        "only-reads": {"calls": [("read", {})]},
    }
    if name.startswith("once-"): # that status, and what follows the next dash as Retry-After: seconds from now, as a number or a date
        status, after, form = name.split("-")[1:]
        at = time.time() + float(after)
        value = after if form == "number" else time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(at))
        return {"status": int(status), "headers": {"Retry-After": value}, "body": "later"} if n == 0 else GOOD
    if name == "wrong-calls":
        return wrong_calls(n)
    if name == "429-thrice":
        return faults["429-storm"] if n < 3 else GOOD
    if name == "old-server":
        words = json.dumps(request["body"])
        if "stream_options" in words:
            return {"status": 400, "body": '{"error": {"message": "unknown field stream_options"}}'}
        if "max_tokens" in request["body"]:
            return {"status": 400, "body": '{"error": {"message": "use max_completion_tokens instead"}}'}
        return GOOD
    if name == "steady": # by what was said, so that it goes on wherever it was left
        return steady(sum(s["role"] == "assistant" for s in request["said"]))
    return odd_streams().get(name) or faults.get(name, GOOD)
