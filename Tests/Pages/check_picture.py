#!/usr/bin/env python3
"""Checks a page that `holdfast replay --html` wrote, in Chromium.

    check_picture.py [--schema FILE] PAGE

Prints one line for each check, and exits with 1 if one fails. Some checks put other traces into
PAGE. With a schema, the traces of the page are validated. Needs
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
from pictures import PictureChecks


def arguments():
    """Returns the arguments of this program."""
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--schema")
    options.add_argument("page", type=pathlib.Path)
    return options.parse_args()


class Opening(PictureChecks):
    """Checks that the traces of a page follow the schema."""

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
        if options.schema:
            opening.schema(options.schema, opening.traces)
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
