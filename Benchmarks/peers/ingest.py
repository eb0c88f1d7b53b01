"""Follows a stream of shop messages as a careful Python client would: `websockets`, `json`, `sqlite3`.

Each frame is parsed, validated, deduplicated by its id, inserted into a timeline of the newest 1,000
messages, and stored. Messages that arrive together are stored in one transaction. The program prints a
line and ends once COUNT messages are stored.
"""

import asyncio
import bisect
import datetime
import json
import sqlite3
import sys
import uuid

import websockets

BATCH = 1000
MEMORY = 1000


def message(text: str, shop: str) -> tuple:
    fields = json.loads(text)
    if fields["shop_id"] != shop or not isinstance(fields["message"], str):
        raise ValueError("not a message of this shop")
    if len(fields["message"]) > 10_000:
        raise ValueError("too long")
    created = datetime.datetime.fromisoformat(fields["created_at"].replace("Z", "+00:00"))
    epoch, _, offset = fields.get("position", "").rpartition(":")
    return (
        int(created.timestamp() * 1e9), uuid.UUID(fields["id"]).bytes, fields["user_id"],
        fields.get("username"), fields["message"], epoch, int(offset or 0), shop,
    )


def store(database: sqlite3.Connection, shop: str, rows: list) -> None:
    with database:
        database.executemany(
            "INSERT INTO messages(created_at, id, user, username, text, epoch, offset, shop,"
            " is_edited) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING", rows)
        database.execute(
            "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)", (shop, rows[-1][5], rows[-1][6]))


async def main(url: str, path: str, shop: str, count: int) -> None:
    database = sqlite3.connect(path)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "PRAGMA wal_autocheckpoint = 4000;"
        "CREATE TABLE messages(shop TEXT NOT NULL, id BLOB NOT NULL, user TEXT NOT NULL,"
        " username TEXT, text TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER,"
        " is_edited INTEGER NOT NULL, parent BLOB, epoch TEXT, offset INTEGER,"
        " PRIMARY KEY (shop, id)) STRICT;"
        "CREATE INDEX timeline ON messages(shop, created_at, id);"
        "CREATE TABLE cursors(shop TEXT PRIMARY KEY NOT NULL, epoch TEXT, offset INTEGER)"
        " STRICT, WITHOUT ROWID;")
    seen, timeline, waiting, stored = set(), [], [], 0
    async with websockets.connect(url, compression=None, max_size=10_240, max_queue=BATCH) as socket:
        async for text in socket:
            row = message(text, shop)
            if row[1] in seen:
                continue
            seen.add(row[1])
            waiting.append(row)
            if len(waiting) < BATCH and stored + len(waiting) < count and socket.messages:
                continue
            store(database, shop, waiting)
            for kept in waiting:
                bisect.insort(timeline, kept[:2])
            del timeline[:-MEMORY]
            stored += len(waiting)
            waiting = []
            if stored >= count:
                print("stored", flush=True)
                return


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
