"""Asks the forty questions through the official SDK, and checks each number independently.

ask.py URL MODE EXPORT ZONE WORD CODE prints a line for each question, and one line at the end.
"""

import asyncio
import json
import sys

from questions import forty
from reckon import Export
from speak import connect, content, is_error, text

url, mode, path, zone, word, code = sys.argv[1:]


def is_same(told, expected, question):
    if told is None or expected is None or isinstance(expected, str):
        return told == expected
    # Counts are whole numbers in answers. Other numbers have four decimals.
    if question.is_count:
        return isinstance(told, int) and abs(told - expected) <= 0.5
    return abs(told - float(expected)) <= 5.1e-5


def say(**line):
    print(json.dumps(line), flush=True)


async def main():
    questions = forty(Export(path, zone))
    async with connect(url, mode) as (client, spoken):
        token = {}
        if word:  # A server over standard input and output has no login.
            login = content(await client.call_tool("direct_login", {"word": word, "code": code}))
            token = {"access_token": login["access_token"]}
        for question in questions:
            result = await client.call_tool(question.tool, {**question.arguments, **token})
            answer = content(result)
            told = None if is_error(result) else question.told(answer)
            expected = question.expected
            say(question=question.text, told=told, none=expected is None,
                expected=expected if expected is None or isinstance(expected, str)
                else float(expected),
                good=not is_error(result) and is_same(told, expected, question)
                and answer["time_zone"] == zone and json.loads(text(result)) == answer)
    say(asked=len(questions), version=spoken)


asyncio.run(main())
