"""A client of either major version of the official SDK, for the programs of the tests."""

import contextlib
from importlib.metadata import version

is_newer = not version("mcp").startswith("1.")


@contextlib.asynccontextmanager
async def connect(url, mode):
    """Connects, and yields the client and the negotiated version of the protocol."""
    if is_newer:
        from mcp import Client

        async with Client(url, mode=mode) as client:
            yield client, str(client.protocol_version)
    else:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(url) as (reading, writing, _):
            async with ClientSession(reading, writing) as session:
                greeting = await session.initialize()
                yield session, greeting.protocolVersion


def content(result):
    return result.structured_content if is_newer else result.structuredContent


def is_error(result):
    return bool(result.is_error if is_newer else result.isError)


def text(result):
    return "".join(part.text for part in result.content)
