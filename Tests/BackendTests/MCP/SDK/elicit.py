"""The sign-in on a page that the server asks for, for the programs of the tests.

The handler opens the page as a person would. What the newer SDK sends and receives is recorded, so
that a test can look for secrets in it.
"""

import asyncio
import os

import browser
from mcp import types

# The code of the error with which version 2025-11-25 asks for a page.
REQUIRED = -32042
messages = []


def applies(url):
    """Returns whether the sign-in is on a page: where a client does not sign in by OAuth."""
    return "HOLDFAST_CODES" in os.environ and url.endswith("/mcp/code")


async def handler(_, params):
    assert params.mode == "url"
    await asyncio.to_thread(browser.sign_in, params.url)
    return types.ElicitResult(action="accept")


async def call(client, tool, arguments, **more):
    """Calls a tool, and once more if the user had to open a page first."""
    try:
        return await client.call_tool(tool, arguments, **more)
    except Exception as error:
        told = getattr(error, "error", None)
        if getattr(told, "code", None) != REQUIRED:
            raise
        for page in told.data["elicitations"]:
            await handler(None, types.ElicitRequestURLParams.model_validate(page))
        return await client.call_tool(tool, arguments, **more)


def recorder():
    """Returns an HTTP client of the newer SDK that records requests and their answers."""
    import httpx2

    async def sent(request):
        messages.append(f"{request.headers} {(await request.aread()).decode()}")

    async def received(answer):
        # A stream of events has no end while the session lives.
        if answer.request.method == "POST":
            messages.append(f"{answer.headers} {(await answer.aread()).decode()}")

    hooks = {"request": [sent], "response": [received]}
    return httpx2.AsyncClient(event_hooks=hooks, timeout=600)
