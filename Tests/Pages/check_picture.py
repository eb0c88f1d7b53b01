#!/usr/bin/env python3
"""Checks pages that `holdfast replay --html` wrote, in Chromium.

    check_picture.py [--schema FILE] PAGE [OTHER...]

Prints one line for each check, and exits with 1 if one fails. Some checks put other traces into
PAGE; the other pages are opened only. With a schema, the traces of all pages are validated. Needs
Playwright for Python and Chromium, whose path can be in CHROMIUM, and jsonschema for the schema.
"""

import argparse
import pathlib
import sys
import tempfile

from pages import in_browser
from picture_looks import Looks
from picture_phases import Phases
from picture_stories import Stories
from picture_traces import OtherTraces
from picture_use import Use
from pictures import PictureChecks, traces_of


def arguments():
    """Returns the arguments of this program."""
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--schema")
    options.add_argument("page", type=pathlib.Path)
    options.add_argument("others", nargs="*", type=pathlib.Path)
    return options.parse_args()


class Opening(PictureChecks):
    """Checks that pages open with all their traces, and that these follow the schema."""

    def pages(self, paths):
        """Opens further pages, and returns their traces."""
        traces = []
        for path in paths:
            found = traces_of(path.read_text(encoding="utf-8"))
            page = self.show(path.resolve().as_uri())
            shown = page.locator(".linkrow").count()
            names = page.locator("#links").inner_text()
            good = shown == len(found) > 0 and all(header["name"] in names for header, _ in found)
            self.check(f"{path.name} opens with its {len(found)} traces",
                       good and not page.problems,
                       (shown, names, page.problems, page.locator("#message").inner_text()))
            traces += [trace for trace in found if trace not in traces]
        return traces

    def schema(self, path, traces):
        """Validates traces."""
        from trace_schema import Schema
        schema = Schema(path)
        for header, facts in traces:
            problems = schema.problems(header, facts)
            name = f"{header['machine']} “{header['name']}” of {len(facts)} facts"
            self.check(f"valid: {header['source']} {name}", not problems, problems)
            accepted = schema.accepted(header, facts)
            self.check(f"the schema refuses its damaged lines: {name}", not accepted, accepted[:3])


def check(browser, options):
    """Makes all checks. Returns the status of the program."""
    with tempfile.TemporaryDirectory() as folder:
        opening = Opening(browser, options.page, folder)
        traces = opening.traces + opening.pages(options.others)
        if options.schema:
            opening.schema(options.schema, traces)
        for subject in (Use, Looks, OtherTraces, Phases, Stories):
            checks = subject(browser, options.page, folder)
            checks.run()
            opening.failed += checks.failed
        return opening.status()


def main():
    options = arguments()
    return in_browser(lambda browser: check(browser, options))


if __name__ == "__main__":
    sys.exit(main())
