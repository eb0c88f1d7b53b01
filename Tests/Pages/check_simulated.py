#!/usr/bin/env python3
"""Opens pages that `holdfast-sim simulate --html` wrote, in Chromium.

    check_simulated.py [--schema FILE] PAGE...

Prints one line for each page, and exits with 1 if one is wrong: if it reports or requests
something, leaves a line of a trace out, lacks a link, or does not open at its first finding. With a
schema, the traces of the pages are validated. Needs Playwright for Python and Chromium, whose path
can be in CHROMIUM, and jsonschema for the schema.
"""

import argparse
import pathlib
import sys

from pages import DESKTOP, FRAMES, Checks, in_browser, wait_for, watched
from pictures import traces_of

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
    traces = traces_of(path.read_text(encoding="utf-8"))
    page = watched(browser.new_context(viewport=DESKTOP).new_page())
    url = path.resolve().as_uri()
    page.goto(url)
    wait_for(page, "document.body.dataset.state === 'open'")
    page.evaluate(FRAMES)
    seen = page.evaluate(SEEN)
    page.context.close()
    wrong = [f"the page reports {problem}" for problem in page.problems]
    wrong += [f"requests {other}" for other in page.requests if other != url]
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


def invalid(schema, path):
    """Returns what is wrong with the traces of a page, and what the schema accepts wrongly."""
    wrong = []
    for header, facts in traces_of(path.read_text(encoding="utf-8")):
        wrong += [f"{header['machine']}: {text}" for text in schema.problems(header, facts)]
        wrong += [f"accepted: {line}" for line in schema.accepted(header, facts)[:3]]
    return wrong


def check(browser, options):
    """Checks all pages. Returns the status of the program."""
    checks, schema = Checks(), None
    if options.schema:
        from trace_schema import Schema
        schema = Schema(options.schema)
    for path in options.pages:
        wrong = problems(browser, path)
        if schema:
            wrong += invalid(schema, path)
        checks.check(path.name, not wrong, "; ".join(wrong))
    return checks.status()


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--schema")
    options.add_argument("pages", nargs="+", type=pathlib.Path)
    chosen = options.parse_args()
    return in_browser(lambda browser: check(browser, chosen))


if __name__ == "__main__":
    sys.exit(main())
