"""Asks for steps through a library that hands a model the text of an answer alone.

libraries.py LIBRARY URL WORD CODE prints one JSON object with the text that the model would get.
"""

import asyncio
import json
import sys

STEPS = {
    "value_type": "STEPS",
    "start_time": "2026-03-01T00:00:00",
    "end_time": "2026-03-02T00:00:00",
}


async def openai_agents(url, ask):
    from agents.mcp import MCPServerStreamableHttp, MCPUtil
    from agents.run_context import RunContextWrapper

    async with MCPServerStreamableHttp(params={"url": url}) as server:
        tools = {tool.name: tool for tool in await server.list_tools()}

        async def call(name, arguments):
            handed = await MCPUtil.invoke_mcp_tool(
                server, tools[name], RunContextWrapper(None), json.dumps(arguments)
            )
            return handed["text"]

        return await ask(call)


async def langchain(url, ask):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"health": {"url": url, "transport": "streamable_http"}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, arguments):
        # Each call has a session of its own, which is this library's default.
        request = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        message = await tools[name].ainvoke(request)
        return "".join(part["text"] for part in message.content)

    return await ask(call)


async def strands(url, ask):
    from mcp.client.streamable_http import streamablehttp_client
    from strands.tools.mcp import MCPClient

    def inside():
        with MCPClient(lambda: streamablehttp_client(url)) as client:
            names = {tool.tool_name for tool in client.list_tools_sync()}

            async def call(name, arguments):
                assert name in names
                result = client.call_tool_sync("1", name, arguments)
                return "".join(part["text"] for part in result["content"])

            return asyncio.run(ask(call))

    return await asyncio.to_thread(inside)


async def autogen(url, ask):
    from autogen_core import CancellationToken
    from autogen_ext.tools.mcp import StreamableHttpServerParams, mcp_server_tools

    tools = {tool.name: tool for tool in await mcp_server_tools(StreamableHttpServerParams(url=url))}

    async def call(name, arguments):
        result = await tools[name].run_json(arguments, CancellationToken())
        # The model gets a JSON list of the parts.
        parts = json.loads(tools[name].return_value_as_string(result))
        return "".join(part["text"] for part in parts)

    return await ask(call)


async def main(library, url, word, code):
    async def ask(call):
        login = json.loads(await call("direct_login", {"word": word, "code": code}))
        token = {"access_token": login["access_token"]}
        return await call("get_health_metrics", {**STEPS, **token})

    print(json.dumps({"text": await globals()[library](url, ask)}), flush=True)


asyncio.run(main(*sys.argv[1:]))
