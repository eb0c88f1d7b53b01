"""A client of either major version of the official SDK, for the programs of the tests."""

import contextlib
import json
import os
from importlib.metadata import version

import account
import elicit

is_newer = not version("mcp").startswith("1.")


@contextlib.asynccontextmanager
async def connect(url, mode):
    """Connects, and yields the client and the negotiated version of the protocol.

    Signs in by OAuth, or on a page that the server asks for, if the environment says so. Mode "fastmcp" is another client over the
    newer SDK, which has a sign-in of its own. A JSON array in place of the address is the command
    line of a server that speaks over standard input and output.
    """
    if url.startswith("["):
        async with start(json.loads(url), mode) as connection:
            yield connection
        return
    if mode == "fastmcp":
        import fastmcp

        async with fastmcp.Client(url, auth="oauth") as client:
            yield client.session, str(client.session.protocol_version)
    elif is_newer:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared.auth import AuthorizationCodeResult

        on_page = elicit.applies(url)
        auth = account.provider(url, lambda told: AuthorizationCodeResult(**told))
        http = httpx2.AsyncClient(auth=auth, timeout=600) if auth else None
        http = elicit.recorder() if on_page else http
        http = answered() if "HOLDFAST_BALANCER_DIES" in os.environ else http
        server = streamable_http_client(url, http_client=http) if http else url
        asked = {"elicitation_callback": elicit.handler} if on_page else {}
        async with Client(server, mode=mode, **asked) as client:
            yield client, str(client.protocol_version)
    else:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        auth = account.provider(url, lambda told: (told["code"], told["state"]))
        asked = {"elicitation_callback": elicit.handler} if elicit.applies(url) else {}
        async with streamablehttp_client(url, auth=auth) as (reading, writing, _):
            async with ClientSession(reading, writing, **asked) as session:
                greeting = await session.initialize()
                yield session, greeting.protocolVersion


def answered():
    """Returns an HTTP client of the newer SDK, for which each broken connection is an answer, 502.

    The SDK survives each status, but no error of a connection, and a balancer that is killed tells no status.
    """
    import httpx2

    class Answered(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request):
            try:
                answer = await super().handle_async_request(request)
                if answer.headers.get("content-type", "").startswith("application/json"):
                    await answer.aread()
                return answer
            except httpx2.TransportError:
                return httpx2.Response(502, request=request)

    return httpx2.AsyncClient(transport=Answered(), timeout=httpx2.Timeout(600))


@contextlib.asynccontextmanager
async def start(command, mode):
    """Starts a server, and yields the client and the negotiated version of the protocol."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    streams = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    if is_newer:
        from mcp import Client

        async with Client(streams, mode=mode) as client:
            yield client, str(client.protocol_version)
    else:
        from mcp import ClientSession

        async with streams as (reading, writing):
            async with ClientSession(reading, writing) as session:
                greeting = await session.initialize()
                yield session, greeting.protocolVersion


def content(result):
    return result.structured_content if is_newer else result.structuredContent


def is_error(result):
    return bool(result.is_error if is_newer else result.isError)


def text(result):
    return "".join(part.text for part in result.content)
