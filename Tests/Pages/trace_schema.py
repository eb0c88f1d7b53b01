"""Validates traces with the JSON Schema of their format."""

import collections
import copy
import json
import pathlib

import jsonschema

# Facts of the same lane, kind and fields are alike: this many of them are validated.
ENOUGH = 50


class Schema:
    """The schema in a file."""

    def __init__(self, path):
        schema = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        defs = {"$schema": schema["$schema"], "$defs": schema["$defs"]}
        self.header = kind({**defs, "$ref": "#/$defs/header"})
        self.fact = kind({**defs, "$ref": "#/$defs/fact"})
        self.whole = kind(schema)

    def problems(self, header, facts):
        """Returns a text for each line of a trace that is not valid; at most five."""
        found = [f"header: {error.message}" for error in self.header.iter_errors(header)]
        seen = collections.Counter()
        last = 0
        for place, fact in enumerate(facts):
            if fact.get("t", 0) < last:
                found.append(f"fact {place}: out of order")
            last = fact.get("t", 0)
            if not fact.get("by", -1) < len(facts):
                found.append(f"fact {place}: its cause is not in the trace")
            shape = (fact.get("lane"), fact.get("kind"), *sorted(fact))
            seen[shape] += 1
            if seen[shape] <= ENOUGH and not self.fact.is_valid(fact):
                error = jsonschema.exceptions.best_match(self.fact.iter_errors(fact))
                found.append(f"fact {place}: {error.message[:200]} in {json.dumps(fact)[:300]}")
            if len(found) >= 5:
                break
        return found

    def accepted(self, header, facts):
        """Returns the damaged lines of a trace that the schema accepts, which should be none."""
        return [line for line in damaged(header, facts) if self.whole.is_valid(line)]


def damaged(header, facts):
    """Returns lines of a trace, each with one fault."""
    lines = [{**header, "trace": 2}, {**header, "source": "other"}, {**header, "end": -1}]
    lines += [{**header, "startedAt": "yesterday"}, {**header, "policy": {"name": "p"}}]
    kinds = {}
    for fact in facts:
        kinds.setdefault((fact["lane"], fact["kind"]), fact)
    for fact in kinds.values():
        lines += [{**fact, "lane": "satellite"}, {**fact, "kind": "other"}, {**fact, "say": ""}]
        lines += [{**fact, "t": "1"}, {**fact, "new": 1}, {**fact, "by": -1}]
        for name in ("t", "lane", "kind", "say"):
            line = copy.deepcopy(fact)
            del line[name]
            lines.append(line)
        if fact["kind"] in ("end", "state"):
            lines += [{**fact, "why": "for no reason"}]
    return lines
