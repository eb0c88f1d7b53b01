"""The sign-in of the official SDK by OAuth, for the programs of the tests."""

import asyncio
import os
from urllib.parse import parse_qs, urlsplit

import browser
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

# No program listens here: the address of the redirect is read, not visited.
REDIRECT = "http://localhost:9/callback"


class Memory:
    """The storage of the SDK, for the time of the program."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


providers = []


def expire():
    """Makes the SDK take its access token for expired, so that it uses the refresh token."""
    providers[0].context.token_expiry_time = 1


def provider(url, answer):
    """Returns the provider that signs in, or None if the environment names no pipe with codes, or
    if the address is that of a login without OAuth.

    `answer` converts the fields of the redirect to what a version of the SDK takes.
    """
    if "HOLDFAST_CODES" not in os.environ or not url.endswith("/mcp"):
        return None
    told = {}

    async def redirect(page):
        address = await asyncio.to_thread(browser.sign_in, page)
        told.clear()
        told.update({key: value[0] for key, value in parse_qs(urlsplit(address).query).items()})

    async def callback():
        return answer(told)

    metadata = OAuthClientMetadata(
        client_name="The SDK of a test",
        redirect_uris=[REDIRECT],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    providers.append(OAuthClientProvider(url, metadata, Memory(), redirect, callback))
    return providers[0]
