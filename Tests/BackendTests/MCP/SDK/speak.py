"""What the programs of the tests share: a client of the official SDK, of either line."""

import contextlib
from importlib.metadata import version

is_newer = not version("mcp").startswith("1.")


@contextlib.asynccontextmanager
async def connect(url, mode):
    """Connects; gives the client and the version of the protocol that was agreed on."""
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
