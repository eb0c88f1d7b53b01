#!/usr/bin/env python3
"""Checks the pages of `/oauth/authorize` in Chromium, without JavaScript, against a running server.

    check_oauth.py URL WORD CODE [FOLDER]

The word and the code are those of a phone that is connected to the server, and are used up. With a
folder, the script writes pictures of the pages there. It prints one line for each check, and exits
with 1 if one fails. Needs Playwright for Python and Chromium; CHROMIUM is the path of its program.
"""

import http.server
import json
import pathlib
import sys
import threading
import urllib.parse
import urllib.request

from playwright.sync_api import sync_playwright

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from pages import CONTRAST, launch  # noqa: E402

PHONE = {"width": 320, "height": 568}
# A server keeps 64 characters of a name.
NAME = '<b id="markup">Pantry</b> & "Sons" of-a-very-long-name-in-one-w'
SIZES = {
    "a phone": PHONE, "a phone, 200 %": {"width": 160, "height": 284},
    "a desktop": {"width": 1280, "height": 800},
    "a desktop, 200 %": {"width": 640, "height": 400},
}
WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
FOCUS = """() => {
  const element = document.activeElement, style = getComputedStyle(element);
  return [element.name || element.textContent, style.outlineStyle, parseFloat(style.outlineWidth)];
}"""
# The texts that a screen reader speaks after the label of a field.
DESCRIBED = """id => document.getElementById(id).getAttribute('aria-describedby').split(' ')
  .map(part => document.getElementById(part).textContent.trim()).filter(text => text)"""
SMALL = """() => [...document.querySelectorAll('button, input:not([type=hidden])')]
  .map(element => element.getBoundingClientRect()).filter(box => box.height < 44).length"""


class Client(http.server.BaseHTTPRequestHandler):
    """A client's server: the address of its redirect, and a page that frames the sign-in."""

    def do_GET(self):
        body = b"<!doctype html><title>Client</title><p>Back at the client"
        if self.path.startswith("/frame?"):
            page = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["page"][0]
            body = f'<iframe src="{page.replace("&", "&amp;")}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Checks:
    """The checks of the pages of a server."""

    def __init__(self, browser, base, word, code, folder=None):
        self.browser, self.base, self.folder = browser, base, folder
        self.word, self.code = word, code
        self.failed = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Client)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.home = f"http://127.0.0.1:{self.server.server_port}"
        self.client = self.register()

    def check(self, name, good, seen=""):
        print("✓" if good else "✗", name, "" if good else seen, flush=True)
        if not good:
            self.failed.append(name)

    def register(self):
        """Registers a client whose name contains markup, and returns its id."""
        body = {"client_name": NAME, "redirect_uris": [f"{self.home}/callback"]}
        request = urllib.request.Request(
            f"{self.base}/oauth/register", json.dumps(body).encode(),
            {"Content-Type": "application/json"})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return json.load(direct.open(request))["client_id"]

    def address(self, **changes):
        fields = {
            "response_type": "code", "client_id": self.client, "state": "a & b",
            "redirect_uri": f"{self.home}/callback", "resource": f"{self.base}/mcp",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            "code_challenge_method": "S256", **changes}
        return f"{self.base}/oauth/authorize?{urllib.parse.urlencode(fields)}"

    def open(self, address=None, **options):
        options.setdefault("viewport", PHONE)
        page = self.browser.new_context(java_script_enabled=False, **options).new_page()
        page.problems, page.requests = [], []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("request", lambda request: page.requests.append(request.url))
        page.answer = page.goto(address or self.address())
        return page

    def focused(self, page):
        """Waits for the focus of a new page, which comes after the page has loaded."""
        page.locator("#word:focus").wait_for()

    def close(self, page, name, statuses=0):
        """Closes a page. Chromium reports each status of 400 and above in the console."""
        own = (self.base + "/oauth/", self.home + "/")
        foreign = [url for url in page.requests if not url.startswith(own)]
        foreign = [url for url in foreign if not url.endswith("/favicon.ico")]
        self.check(f"{name}: no request elsewhere", not foreign, foreign)
        texts = [text for text in page.problems if "the server responded with a status" not in text]
        self.check(f"{name}: no message in the console", not texts, texts)
        page.context.close()

    def picture(self, page, name):
        if self.folder:
            page.screenshot(path=f"{self.folder}/oauth-{name}.png", full_page=True)

    def run(self):
        for part in (self.content, self.looks, self.keyboard, self.wrong, self.cancel, self.frame,
                     self.unknown, self.sign_in):
            try:
                part()
            except Exception as error:  # The other parts are still checked.
                self.check(part.__name__, False, repr(error))
        self.server.shutdown()
        return 1 if self.failed else 0

    # The parts.

    def content(self):
        page = self.open()
        self.picture(page, "first")
        self.check("the client's name is text", page.inner_text("#client") == NAME,
                   page.inner_text("#client"))
        self.check("markup in a name makes no element", page.locator("#markup").count() == 0)
        host = urllib.parse.urlsplit(self.home).netloc
        self.check("the host of the redirect is shown", page.inner_text("#host") in (
            host, host.split(":")[0]), page.inner_text("#host"))
        fields = {name: page.get_by_label(name, exact=True) for name in ("Words", "Code")}
        self.check("each field has a label", all(field.count() == 1 for field in fields.values()))
        wanted = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        seen = {key: fields["Words"].get_attribute(key) for key in wanted}
        self.check("words are typed without correction", seen == wanted, seen)
        wanted = {"autocomplete": "one-time-code", "inputmode": "numeric"}
        seen = {key: fields["Code"].get_attribute(key) for key in wanted}
        self.check("a code is typed with digits", seen == wanted, seen)
        head = page.answer.headers
        self.check("no other page may frame it",
                   "frame-ancestors 'none'" in head.get("content-security-policy", ""), head)
        self.check("no cache keeps it", head.get("cache-control") == "no-store", head)
        self.check("no address of it is passed on", head.get("referrer-policy") == "same-origin",
                   head)
        self.close(page, "the form")

    def looks(self):
        for scheme in ("light", "dark"):
            for name, size in SIZES.items():
                page = self.open(color_scheme=scheme, viewport=size)
                place = f"{name}, {scheme}"
                self.check(f"{place}: nothing is cut off", not page.evaluate(WIDE))
                self.check(f"{place}: targets for fingers", page.evaluate(SMALL) == 0)
                self.picture(page, place.replace(" ", "-").replace(",", "").replace("%", ""))
                page.context.close()
            page = self.open(color_scheme=scheme)
            worst = page.evaluate(CONTRAST)
            self.check(f"{scheme}: letters stand out", worst[0] >= 4.5, worst)
            page.context.close()
        page = self.open(forced_colors="active")
        self.picture(page, "forced")
        page.context.close()

    def keyboard(self):
        page = self.open()
        self.focused(page)
        seen = []
        for _ in range(4):
            seen.append(page.evaluate(FOCUS))
            page.keyboard.press("Tab")
        names = [name for name, _, _ in seen]
        self.check("the keyboard reaches the fields, then the buttons",
                   names == ["word", "code", "Connect", "deny"], names)
        outlines = [(style, width) for _, style, width in seen]
        self.check("the focus is visible everywhere",
                   all(style == "solid" and width >= 2 for style, width in outlines), outlines)
        before = len(page.requests)
        page.focus("#code")
        page.keyboard.press("Enter")
        self.check("empty fields are not sent", len(page.requests) == before, page.requests)
        self.close(page, "the keyboard")

    def wrong(self):
        page = self.open()
        page.fill("#word", "wrong-words")
        page.fill("#code", "000000")
        with page.expect_navigation() as navigation:
            page.keyboard.press("Enter")
        page.answer = navigation.value
        self.focused(page)
        self.picture(page, "wrong")
        error = page.inner_text("#error")
        self.check("a wrong code says so", error != "" and page.locator("#error").is_visible())
        self.check("the status is an error", 400 <= page.answer.status < 500, page.answer.status)
        for field in ("word", "code"):
            texts = page.evaluate(DESCRIBED, field)
            self.check(f"the error belongs to the {field}", texts[0] == error and len(texts) == 2,
                       texts)
            self.check(f"the {field} is marked",
                       page.get_attribute(f"#{field}", "aria-invalid") == "true")
            self.check(f"the {field} is empty again", page.input_value(f"#{field}") == "")
        self.check("the title says it first", page.title().startswith("Error: "), page.title())
        self.check("the focus is in the first field", page.evaluate(FOCUS)[0] == "word")
        self.check("the client is still named", page.inner_text("#client") == NAME)
        self.check("no address has a secret", not any("000000" in url for url in page.requests),
                   page.requests)
        self.check("wrong: letters stand out", page.evaluate(CONTRAST)[0] >= 4.5)
        self.close(page, "a wrong code")

    def returned(self, page):
        """Returns the fields of the address at which the client was reached."""
        page.wait_for_url(f"{self.home}/callback?*")
        query = urllib.parse.urlsplit(page.url).query
        return {key: values[0] for key, values in urllib.parse.parse_qs(query).items()}

    def cancel(self):
        page = self.open()
        page.get_by_role("button", name="Cancel").click()
        fields = self.returned(page)
        self.check("Cancel tells the client", fields.get("error") == "access_denied"
                   and fields.get("state") == "a & b", fields)
        self.close(page, "Cancel")

    def frame(self):
        query = urllib.parse.urlencode({"page": self.address()})
        page = self.open(f"{self.home}/frame?{query}")
        page.wait_for_timeout(500)
        inner = page.frames[1]
        self.check("a frame stays empty", inner.locator("#word").count() == 0, inner.url)
        page.context.close()

    def unknown(self):
        for name, changes in {
                "an unknown client": {"client_id": "nobody"},
                "another redirect": {"redirect_uri": "https://example.org/callback"}}.items():
            page = self.open(self.address(**changes))
            self.picture(page, name.replace(" ", "-"))
            self.check(f"{name}: 400", page.answer.status == 400, page.answer.status)
            self.check(f"{name}: a heading and a sentence",
                       page.locator("h1").count() == 1 and page.locator("form").count() == 0)
            self.check(f"{name}: nothing is cut off", not page.evaluate(WIDE))
            self.check(f"{name}: letters stand out", page.evaluate(CONTRAST)[0] >= 4.5)
            self.close(page, name)

    def sign_in(self):
        """Signs in with the keyboard alone. This uses up the word and the code."""
        page = self.open()
        self.focused(page)
        page.keyboard.type(self.word)
        page.keyboard.press("Tab")
        page.keyboard.type(self.code)
        page.keyboard.press("Enter")
        fields = self.returned(page)
        self.check("the client gets a code, its state and the issuer", set(fields) == {
            "code", "state", "iss"} and fields["state"] == "a & b" and fields["iss"] == self.base,
            fields)
        secrets = [url for url in page.requests if self.code in url or self.word in url]
        self.check("no address has the word or the code", not secrets, secrets)
        self.close(page, "the sign-in")


def main():
    base, word, code, *folder = sys.argv[1:]
    with sync_playwright() as playwright:
        browser = launch(playwright)
        status = Checks(browser, base, word, code, *folder).run()
        browser.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
