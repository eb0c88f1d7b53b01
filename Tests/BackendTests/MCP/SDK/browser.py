"""A browser without JavaScript, and a person who types the pairing code that a phone shows.

browser.py URL signs in on the page at URL, and visits the address to which the page redirects. The
environment variable HOLDFAST_CODES names a pipe; each of its lines is a word and a code.
"""

import html.parser
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))


class Form(html.parser.HTMLParser):
    """The first form of a page: its address and its fields."""

    def __init__(self, text):
        super().__init__()
        self.action, self.fields = None, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "form":
            self.action = found.get("action") or ""
        if tag == "input":
            self.fields[found["name"]] = found.get("value") or ""


def fetch(url, fields=None):
    body = None if fields is None else urllib.parse.urlencode(fields).encode()
    try:
        return opener.open(url, body, timeout=600)
    except urllib.error.HTTPError as answer:
        return answer


def typed():
    """Returns the next word and code of the phone. Another program may read the lines after it."""
    line = b""
    with open(os.environ["HOLDFAST_CODES"], "rb", buffering=0) as pipe:
        while not line.endswith(b"\n"):
            line += pipe.read(1)
    return line.decode().split()


def sign_in(url):
    """Signs in, and returns the address to which the page redirects, None if it does not."""
    page = fetch(url)
    if page.status == 200:
        form = Form(page.read().decode())
        word, code = typed()
        page = fetch(
            urllib.parse.urljoin(url, form.action), {**form.fields, "word": word, "code": code}
        )
    return page.headers["Location"] if page.status in (302, 303) else None


def visit(url):
    """Opens the address of a program that may begin to listen only now."""
    deadline = time.monotonic() + 600
    while True:
        try:
            return fetch(url)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    address = sign_in(sys.argv[1])
    if address:
        visit(address)
