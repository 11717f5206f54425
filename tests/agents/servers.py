#!/usr/bin/env python3
"""Configuration of LiteLLM's proxy for servers.sh, as JSON, which is YAML.

usage: servers.py UNIT PORT >config.yaml

UNIT is the small unit of tests/cli/lib.sh, PORT that of tests/agents/endpoint.py.  Models: "mock" answers from the proxy's own
mock with tool calls that make a good candidate, "mock-text" with text alone, "mock-429" and "mock-500" with its own errors,
"mock-long" that the context is too long; "play" hands on to the endpoint, so that a conversation of many turns goes through what
the proxy makes of both APIs."""
import json, sys

unit = open(sys.argv[1]).read()
good = unit.replace("        y[i] = x[i] * 3.0f;", "        y[i] = x[i] * 3.0f + 1.0f;").replace("    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);\n", "")
assert good.count("<<<") == 1
calls = [("edit", {"text": good}), ("state_hypothesis", {"layer": "operator-boundary", "hypothesis": "y makes a round trip between two launches", "predicted_speedup": 1.8}),
         ("evaluate", {"label": "fuse"})]
tool_calls = [{"id": "call_%d" % i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, (n, a) in enumerate(calls)]


def model(name, **params):
    return {"model_name": name, "litellm_params": dict({"model": "openai/" + name, "api_key": "nobody's", "num_retries": 0}, **params)}


print(json.dumps({
    "model_list": [model("mock", mock_response="Fusing the two launches.", mock_tool_calls=tool_calls),
                   model("mock-text", mock_response="It is accepted with 99x. I am done."),
                   model("mock-429", mock_response="litellm.RateLimitError"), model("mock-500", mock_response="litellm.InternalServerError"),
                   model("mock-long", mock_response="litellm.ContextWindowExceededError"),
                   model("play", model="hosted_vllm/play", api_base="http://127.0.0.1:%s/v1" % sys.argv[2])],
    "litellm_settings": {"telemetry": False, "num_retries": 0, "drop_params": True},
    "general_settings": {"master_key": "sk-servers-test-0123456789abcdef"},
    "router_settings": {"num_retries": 0, "disable_cooldowns": True}}, indent=1))
