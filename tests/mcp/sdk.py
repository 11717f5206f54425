"""sdk.py KSCC SOURCE_DIR: kscc mcp with the official Python SDK as client, which checks every message against the protocol's schema, in
both eras: a competent client's round with wrong turns, progress, cancellation, resources, and a certificate at the end."""
import asyncio
import json
import os
import shutil
import sys

from mcp import Client, MCPError, StdioServerParameters

import unit

kscc, src = sys.argv[1:3]


async def error_code(awaitable):
    try:
        await awaitable
    except MCPError as e:
        return e.error.code
    return None


async def round_of(mode):
    folder, text = unit.make(src)
    server = StdioServerParameters(command=kscc, args=["mcp"], cwd=folder, env=unit.environment())
    told = []

    async def progress(done, total, message):
        told.append((done, message))

    async with Client(server, mode=mode, read_timeout_seconds=280) as client:
        expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
        assert client.protocol_version == expected, client.protocol_version
        tools = {t.name: t for t in (await client.list_tools()).tools}
        for name in ("analyze", "ask", "state_hypothesis", "evaluate", "profile", "best", "history", "report"):
            assert name in tools, name
        assert tools["evaluate"].output_schema["required"] == ["candidate", "outcome"]

        result = await client.call_tool("analyze", {"file": "unit.cu"}, progress_callback=progress)
        assert not result.is_error and result.structured_content["entry"] == "scale_shift", result
        assert result.structured_content["hypotheses"][0]["layer"] == "operator-boundary", result
        assert told, "no progress while the original was built"
        result = await client.call_tool("ask", {"layer": "compute"})
        assert not result.is_error, result
        uris = [str(r.uri) for r in (await client.list_resources()).resources]
        assert {"kscc://source/original", "kscc://source/best", "kscc://trace"} <= set(uris), uris
        assert len([u for u in uris if u.startswith("kscc://bank/")]) >= 7, uris
        for uri in uris:
            contents = (await client.read_resource(uri)).contents
            assert contents[0].text, uri

        # wrong turns: no statement, no such layer, a wrong text
        await client.call_tool("edit", {"old": unit.WRONG[0], "new": unit.WRONG[1]})
        result = await client.call_tool("evaluate", {})
        assert result.is_error and "state_hypothesis" in result.content[0].text, result
        result = await client.call_tool("state_hypothesis", {"layer": "compute", "hypothesis": "x"})
        assert result.is_error, result
        await client.call_tool("state_hypothesis", {"layer": "compute", "hypothesis": "wrong", "predicted_speedup": 1.3})
        result = await client.call_tool("evaluate", {"label": "wrong"})
        assert not result.is_error and result.structured_content["outcome"] == "rejected", result
        assert await error_code(client.call_tool("frobnicate", {})) == -32602

        # a trial is called off
        await client.call_tool("edit", {"text": text.replace(*unit.HANG)})
        await client.call_tool("state_hypothesis", {"layer": "compute", "hypothesis": "hangs", "predicted_speedup": 1.1})
        try:
            await asyncio.wait_for(client.call_tool("evaluate", {}), 0.7)  # the compiler alone takes longer
            raise AssertionError("the hanging trial was not called off")
        except asyncio.TimeoutError:
            pass
        result = await client.call_tool("history", {})
        assert len(result.structured_content["trials"]) == 1, result

        # the right one
        await client.call_tool("edit", {"text": text.replace(*unit.GOOD).replace(*unit.ONE_LAUNCH)})
        await client.call_tool("state_hypothesis", {"layer": "operator-boundary", "hypothesis": "one launch does it", "predicted_speedup": 1.5})
        told.clear()
        result = await client.call_tool("evaluate", {"label": "fused"}, progress_callback=progress)
        assert result.structured_content["outcome"] == "accepted" and result.structured_content["is_best"], result
        assert [d for d, _ in told] == sorted({d for d, _ in told}) and told, told
        result = await client.call_tool("best", {})
        assert result.structured_content["candidate"] == 2, result
        result = await client.call_tool("profile", {})
        assert not result.is_error and result.structured_content["candidate"] == 2, result
        best = (await client.read_resource("kscc://source/best")).contents[0].text
        assert "* 3.0f + 1.0f" in best and "shift<<<" not in best, best
        trace = (await client.read_resource("kscc://trace")).contents[0].text
        events = [json.loads(line)["ev"] for line in trace.splitlines()]
        assert events.count("verdict") == 2 and "cancelled" in events and "tool" in events, events
        result = await client.call_tool("report", {})
        assert "states (operator-boundary" in result.content[0].text and result.structured_content["stats"]["accepted"] == 1, result
        result = await client.call_tool("report", {"finish": True}, progress_callback=progress)
        assert result.structured_content["confirmed"], result
        key = result.structured_content["key"]
    assert os.path.exists(os.path.join(folder, ".kscc", "objects", key, "certificate.json"))
    shutil.rmtree(folder)
    print(f"{mode}: passed")


for mode in ("auto", "legacy"):
    asyncio.run(round_of(mode))
