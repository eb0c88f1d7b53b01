#!/usr/bin/env python3
"""Opens pages that `holdfast-sim simulate --html` wrote, in Chromium.

    check_simulated.py PAGE...

Prints one line for each page, and exits with 1 if one is wrong: if it reports or requests
something, leaves a line of a trace out, lacks a link, or does not open at its first finding. Needs
Playwright for Python and Chromium; CHROMIUM is the path of its program.
"""

import pathlib
import sys

from check_picture import DESKTOP, TRACE, Checks, chromium, wait_for
from playwright.sync_api import sync_playwright

SEEN = """() => ({
  message: document.getElementById('message').innerText,
  links: document.querySelectorAll('.linkrow').length,
  story: document.getElementById('story').textContent,
  cursor: picture.view.cursor,
  link: picture.state.chosen,
  moments: document.body.innerText.includes('Finding: '),
})"""


def problems(browser, path):
    """Returns what is wrong with a page."""
    traces = [Checks.facts(*match) for match in TRACE.findall(path.read_text(encoding="utf-8"))]
    page = browser.new_context(viewport=DESKTOP).new_page()
    wrong, url = [], path.resolve().as_uri()
    page.on("console", lambda message: wrong.append(f"the console says {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"an error: {error}"))
    page.on("request", lambda request: request.url == url or wrong.append(
        f"requests {request.url}"))
    page.goto(url)
    wait_for(page, "document.body.dataset.state === 'open'")
    page.wait_for_timeout(250)
    seen = page.evaluate(SEEN)
    page.context.close()
    if seen["message"].strip():
        wrong.append(f"a message: {seen['message']}")
    if seen["links"] != len(traces):
        wrong.append(f"{seen['links']} links of {len(traces)} traces")
    return wrong + wrong_finding(traces, seen)


def wrong_finding(traces, seen):
    """Returns what is wrong with the instant at which a page opened."""
    findings = [[fact["t"] for fact in facts if fact["lane"] == "finding"] for _, facts in traces]
    first = next((link for link, times in enumerate(findings) if times), None)
    if first is None:
        return []
    wrong = []
    if seen["link"] != first:
        wrong.append(f"opens link {seen['link']}, and the first finding is one of {first}")
    elif abs(seen["cursor"] - min(findings[first])) > 1e-3:
        wrong.append(f"opens at {seen['cursor']} s, not at {min(findings[first])} s")
    if "finding" not in seen["story"] or not seen["moments"]:
        wrong.append(f"does not name its finding: {seen['story']}")
    return wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    failed = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for path in map(pathlib.Path, sys.argv[1:]):
            wrong = problems(browser, path)
            print("✗" if wrong else "✓", path.name, "; ".join(wrong), flush=True)
            failed += bool(wrong)
        browser.close()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
