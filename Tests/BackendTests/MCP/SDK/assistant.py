"""An assistant for the tests: a client of the official SDK that is controlled by standard input.

Each input line is a JSON object with "id" and "do". Each output line is the answer to an input
line, with the same id. Calls run concurrently, so that a later line can cancel an earlier call.
"""

import asyncio
import json
import sys

import account
import elicit
import jsonschema
from speak import connect, content, is_error, is_newer, text

url, mode = sys.argv[1:3]
calls = {}


def say(answer):
    print(json.dumps(answer), flush=True)


def schemas(tool):
    if is_newer:
        return tool.input_schema, tool.output_schema
    return tool.inputSchema, tool.outputSchema


async def list_tools(client, _):
    tools = (await client.list_tools()).tools
    for tool in tools:
        for schema in schemas(tool):
            jsonschema.Draft202012Validator.check_schema(schema)
    return {"tools": [tool.name for tool in tools]}


async def page(client, _):
    """Reads the only resource, and finds the tools whose answers it draws."""
    [resource] = (await client.list_resources()).resources
    [content] = (await client.read_resource(resource.uri)).contents
    tools = (await client.list_tools()).tools
    drawn = [tool.name for tool in tools
             if tool.meta and tool.meta["ui"]["resourceUri"] == str(resource.uri)]
    return {"tools": drawn, "text": content.text}


async def call(client, order):
    told = []

    async def progress(done, total, message):
        told.append([done, total, message])

    more = {"progress_callback": progress} if order.get("progress") else {}
    result = await elicit.call(client, order["tool"], order.get("arguments", {}), **more)
    structured = content(result)
    return {
        "isError": is_error(result),
        "structured": structured,
        "text": text(result),
        "isTold": structured is not None and json.loads(text(result)) == structured,
        "progress": told,
    }


async def ping(client, _):
    await (client.send_ping() if hasattr(client, "send_ping") else client.session.send_ping())
    return {}


async def expire(_, __):
    account.expire()
    return {}


async def messages(_, __):
    return {"text": "\n".join(elicit.messages)}


async def obey(client, order):
    deeds = {
        "list": list_tools,
        "page": page,
        "call": call,
        "ping": ping,
        "expire": expire,
        "messages": messages,
    }
    try:
        answer = await deeds[order["do"]](client, order)
    except asyncio.CancelledError:
        answer = {"cancelled": True}
    except Exception as error:  # The test reports errors that it does not expect.
        answer = {"failed": f"{type(error).__name__}: {error}"}
    say({"id": order["id"], **answer})


async def lines():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield json.loads(line)


async def main():
    async with connect(url, mode) as (client, spoken):
        say({"id": 0, "version": spoken})
        async for order in lines():
            if order["do"] == "cancel":
                calls[order["call"]].cancel()
            elif order["do"] == "end":
                break
            else:
                calls[order["id"]] = asyncio.create_task(obey(client, order))
    say({"id": -1, "ended": True})


asyncio.run(main())
