"""Fixed sequences of message_client.py: refusals, a plain server, limits and long absences."""
import asyncio
import json
import os
import signal
import time
import urllib.parse
import uuid

from message_wire import (API, BAD, ORIGINAL, SHOP, InvalidStatusCode, Lost, Wire, attempt, bodies, check, check_frame,
                          check_message, check_order, check_that, make_token, offset, version)
from peer import HANG, Backend, Broken

PAGES = f"{API}/{SHOP}/messages/paginated"


def key():
    return {"Idempotency-Key": str(uuid.uuid4())}


async def no_limit(wire, *arguments):
    """Repeats a request that came too soon."""
    while True:
        answer = await wire.ask(*arguments)
        if answer.status != 429:
            return answer
        await asyncio.sleep(1)


async def refusals(world):
    """Checks the status of each refusal, and that refused requests change nothing."""
    peer, wire = world.peer, world.wire
    ann, bob, root = world.token("ann"), world.token("bob"), world.token("root", admin=True)
    other, both = world.token("carl", "cellar"), world.token("carol", f"{SHOP},cellar", admin="cellar")

    def posts(text, **more):
        return {"shop_id": SHOP, "message": text, **more}

    async def good(method, token, body, fields=None, status=201):
        answer = await wire.ask(method, f"{API}/messages", token, body, fields)
        check(f"status of {method} {str(body)[:200]}: {answer}", status, answer.status)
        world.seen(answer.data, answer.begun, None)
        return answer.data

    async def remove(name, token=ann):
        answer = await wire.ask("DELETE", f"{API}/messages/{name}", token)
        check(f"status of a deletion: {answer}", 200, answer.status)
        check("members of the answer to a deletion", {"message_id", "position", "changed"}, set(answer.data))
        return answer.data

    # Deletions and replies, keys of posts
    words = world.text()
    first = await good("POST", ann, posts(words))
    check("offset of the first post", 1, offset(first["position"]))
    reply = await good("POST", bob, posts(world.text(), parent_id=first["id"]))
    check("parent of a reply", first["id"], reply["parent_id"])
    world.first = first["id"]
    gone = await remove(first["id"])
    check("position and version of a deletion", (first["position"], 3), (gone["position"], version(gone)))
    check("a repeated deletion", gone, await remove(first["id"]))
    page = await world.page(ann, {"page": 1, "limit": 5}, True)
    check("messages after a deletion", [(reply["id"], None)], [(m["id"], m.get("parent_id")) for m in page["messages"]])
    check("head after a repeated deletion", 3, offset(page["head"]))
    once, again = key(), key()
    body = posts(world.text())
    post = await good("POST", ann, body, once)
    check("a post with a known key", post, await good("POST", ann, body, once, 200))
    text = world.text()
    edit = {"message_id": post["id"], "message": text}
    edited = await good("PUT", ann, edit, again, 200)
    check("an edited message", (text, True, post["created_at"]), (
        edited["message"], edited["is_edited"], edited["created_at"]))
    last = await good("PUT", ann, {"message_id": post["id"], "message": world.text()}, status=200)
    for method, repeated, fields in (("PUT", edit, again), ("POST", body, once),
                                     ("PUT", {"message_id": post["id"], "message": last["message"]}, None)):
        check(f"{method} again after another edit", last["message"],
              (await good(method, ann, repeated, fields, 200))["message"])
    # An edit to the present text has used its key too: repeated after another edit, it must not undo that.
    spare = await good("POST", bob, posts(world.text()))
    same, spare_key = {"message_id": spare["id"], "message": spare["message"]}, key()
    await good("PUT", bob, same, spare_key, 200)
    later = await good("PUT", bob, same | {"message": world.text()}, status=200)
    undone = await good("PUT", bob, same, spare_key, 200)
    await remove(spare["id"], bob)
    world.gone[spare["message"]] = world.gone[later["message"]] = time.monotonic()
    # A key belongs to its user: the same key of another user is another one.
    mine = await good("POST", bob, posts(world.text()), once)
    page = await world.page(ann, {"page": 1, "limit": 5}, True)
    head = offset(page["head"])
    doomed, doomed_key = posts(world.text()), key()
    await remove((await good("POST", ann, doomed, doomed_key))["id"], root)
    kept = await good("POST", ann, posts(world.text()))

    def refused(**more):
        return posts(world.text(is_refused=True), **more)

    def change(name, size=None):
        return {"message_id": name, "message": world.text(is_refused=True, size=size)}

    unknown = str(uuid.uuid4())
    path, one = f"{API}/messages", f"{API}/messages/{kept['id']}"
    here = page["head"]
    long = {"message_id": kept["id"], "message": world.text(True, 9900)[:10_000].ljust(10_001, "x")}
    wide = {"message_id": kept["id"], "message": world.text(True, 40) + "é" * 6000}
    table = [
        ("no token", 401, "POST", path, None, refused(), None),
        ("an invalid token", 401, "POST", path, ann[:-5] + "AAAAA", refused(), None),
        ("pages without a token", 401, "GET", PAGES + "?page=1&limit=5", None, None, None),
        ("another shop", 403, "POST", path, other, refused(), None),
        ("pages of another shop", 403, "GET", PAGES + "?page=1&limit=5", other, None, None),
        ("the list of another shop", 403, "GET", f"{API}/{SHOP}/messages", other, None, None),
        ("an edit from another shop", 403, "PUT", path, other, change(kept["id"]), None),
        ("a deletion from another shop", 403, "DELETE", one, other, None, None),
        ("an edit by another user", 403, "PUT", path, bob, change(kept["id"]), None),
        ("an edit by an admin", 403, "PUT", path, root, change(kept["id"]), None),
        ("a deletion by another user", 403, "DELETE", one, bob, None, None),
        ("a deletion by the admin of another shop", 403, "DELETE", one, both, None, None),
        ("no such route", 404, "GET", f"{API}/{SHOP}/nothing", ann, None, None),
        ("an edit of an unknown message", 404, "PUT", path, ann, change(unknown), None),
        ("a deletion of an unknown message", 404, "DELETE", f"{API}/messages/{unknown}", ann, None, None),
        ("an edit of a deleted message", 404, "PUT", path, ann, change(first["id"]), None),
        ("an unknown before_id", 404, "GET", PAGES + f"?before_id={unknown}&limit=5", ann, None, None),
        ("an unknown after_id", 404, "GET", PAGES + f"?after_id={unknown}&limit=5", ann, None, None),
        ("another method", 405, "PATCH", path, ann, refused(), None),
        ("no JSON", 400, "POST", path, ann, b"{", None),
        ("an array", 400, "POST", path, ann, b"[]", None),
        ("no text", 400, "POST", path, ann, {"shop_id": SHOP}, None),
        ("an empty text", 400, "POST", path, ann, posts(""), None),
        ("a text that is a number", 400, "POST", path, ann, posts(7), None),
        ("no shop", 400, "POST", path, ann, {"message": world.text(is_refused=True)}, None),
        ("an edit without a text", 400, "PUT", path, ann, {"message_id": kept["id"]}, None),
        ("an edit without a message", 400, "PUT", path, ann, {"message": world.text(is_refused=True)}, None),
        ("an edit to no text", 400, "PUT", path, ann, {"message_id": kept["id"], "message": ""}, None),
        ("a key of another text, after an edit", 200, "POST", path, ann, refused(), once),
        ("a key of an edit with another text, after a newer edit", 200, "PUT", path, ann, change(post["id"]), again),
        ("a key of an edit for another message", 409, "PUT", path, ann, edit | {"message_id": kept["id"]}, again),
        ("a key of a post for an edit", 409, "PUT", path, ann, change(kept["id"]), once),
        ("a key of an edit for a post", 409, "POST", path, ann, refused(), again),
        ("a post whose message was deleted", 410, "POST", path, ann, doomed, doomed_key),
        ("a post of 10,001 scalars", 413, "POST", path, ann, posts(long["message"]), None),
        ("a post of more than 10,240 bytes", 413, "POST", path, ann, posts(wide["message"]), None),
        ("an edit of 10,001 scalars", 413, "PUT", path, ann, long, None),
        ("an edit of more than 10,240 bytes", 413, "PUT", path, ann, wide, None),
        ("the stream without an upgrade", 426, "GET", f"{API}/{SHOP}/messages/stream", ann, None, None),
    ] + [(f"a page with {query}", 400, "GET", f"{PAGES}?{query}", ann, None, None) for query in (
        "page=0&limit=5", "page=1&limit=0", "page=1&limit=101", "page=x&limit=5", "page=1&limit=5&strange=1",
        "since=yesterday&limit=5", "after=nothing&limit=5", f"before={here}x&limit=5",
        f"after={here}&before={here}&limit=5", f"since=2026-01-01T00:00:00Z&after={here}&limit=5",
        f"before_id={kept['id']}&after_id={kept['id']}&limit=5", f"before_id={kept['id']}&before={here}&limit=5",
        f"page=1&after={here}&limit=5", f"page=1&before={here}&limit=5")]
    wrong = []
    if (undone["message"], head) != (later["message"], 10):
        wrong.append("an edit to the present text with a key, repeated after another edit: expected no event and the "
                     f"text of the other edit, actual {str(undone)[-150:]}")
    for what, status, method, where, token, sent, fields in table:
        try:
            answer = await no_limit(wire, method, where, token, sent, fields)
        except Lost as error:
            answer = error
        if getattr(answer, "status", None) != status:
            wrong.append(f"{what}: expected {status}, actual {str(answer)[:160]}")
        elif status == 405:
            check_that("Allow of 405", answer.fields["Allow"], "methods", answer.fields)
        peer.count("refusals")
    # A deleted message has no author, so each member may repeat the deletion.
    answer = await no_limit(wire, "DELETE", f"{API}/messages/{first['id']}", bob)
    if answer.status != 200:
        wrong.append(f"a deletion of a deleted message by another user: expected 200, actual {answer}")
    if wrong:
        raise Broken.of(wrong)
    # A key that was used with another text still belongs to its first one.
    check("a refused text changes nothing", last["message"], (await good("POST", ann, body, once, 200))["message"])
    page = await world.page(ann, {"page": 1, "limit": 5}, True)
    check("head after refusals", 13, offset(page["head"]))
    check("messages after refusals", [kept["id"], mine["id"], post["id"], reply["id"]],
          [m["id"] for m in page["messages"]])
    for way, ids in (("before_id", [reply["id"]]), ("after_id", [mine["id"], kept["id"]])):
        found = await world.walk(ann, way, post["id"], True, 1)
        check(f"messages {way} one", ids, [m["id"] for m in found])
        deleted = await world.walk(ann, way, first["id"], way == "after_id", 1)
        check(f"messages {way} a deleted one", [] if way == "before_id" else [
            reply["id"], post["id"], mine["id"], kept["id"]], [m["id"] for m in deleted])
    # A position of another log
    for way in ("after", "before"):
        page = await world.page(ann, {way: "0000000000000001:1", "limit": 3}, True)
        check(f"{way} of another log", (False, [post["id"], mine["id"], kept["id"]]), (
            page["recovered"], [m["id"] for m in page["messages"]]))
    world.posts.update({m["id"]: world.Post(m, None, False) for m in (reply, post, mine, kept)})
    world.posts[post["id"]].text = last["message"]
    world.posts[post["id"]].texts |= {text, last["message"]}
    for old in (words, body["message"], text, doomed["message"]):
        world.gone[old] = time.monotonic()
    check("shops have their own logs", 1, offset((await good_elsewhere(wire, both))["position"]))
    check("status of the health of the stream", 200, (await wire.ask(
        "GET", "/api/v1/health/websocket", None)).status)
    await sockets(world, ann, other)
    await rates(world)


async def good_elsewhere(wire, token):
    answer = await wire.ask("POST", f"{API}/messages", token, {"shop_id": "cellar", "message": "elsewhere"})
    check_message(answer.data, "cellar", None)
    return answer.data


async def sockets(world, ann, other):
    """Upgrades that are refused, and sockets that the server closes."""
    wire, open_ones = world.wire, []
    check("upgrade of another shop", 403, (await attempt(wire.open(other)))[0])
    check("upgrade without a token", 401, (await attempt(wire.open(None)))[0])
    for _ in range(5):
        open_ones.append(await wire.open(ann))
    status, fields = await attempt(wire.open(ann))
    check("sixth socket of a user", (429, True), (status, (fields.get("Retry-After") or "").isdigit()))
    for stream in open_ones:
        await stream.close()
    for life in (3, 30, 300):  # a busy machine may need more than the first one for an upgrade
        short = world.token("dora", life=f"{life}s")
        try:
            stream = await wire.open(short)
            break
        except InvalidStatusCode as error:
            check_that("status of an upgrade with a short token", error.status_code == 401 and life < 300, 101,
                       error.status_code)
    removed = world.token("emil")
    other_stream = await wire.open(removed)
    with open(os.path.join(world.backend.data, "removed.json"), "w", encoding="ascii") as file:
        json.dump({"removed": [{"shop": SHOP, "user": "emil"}]}, file)
    world.backend.child.send_signal(signal.SIGHUP)
    for what, closing, code in (("a removed user", other_stream, 4403), ("an expired token", stream, 4401)):
        try:
            while True:
                check_frame(await asyncio.wait_for(closing.recv(), 2 * HANG))
        except asyncio.TimeoutError:
            check(f"close code for {what}", code, None)
        except BAD:
            check(f"close code for {what}", code, closing.close_code)
    check("a page of a removed user", 403, (await wire.ask("GET", PAGES + "?page=1&limit=5", removed)).status)
    check("a page with an expired token", 401, (await wire.ask("GET", PAGES + "?page=1&limit=5", short)).status)


async def rates(world):
    """Posts too fast. At most 40 at once and 20 a second are accepted."""
    token, wire, begun = world.token("fred"), world.wire, time.monotonic()
    answers = await asyncio.gather(*(wire.ask("POST", f"{API}/messages", token, {
        "shop_id": SHOP, "message": world.text(size=30)}) for _ in range(64)))
    most = 41 + 20 * (time.monotonic() - begun)
    good = [a for a in answers if a.status == 201]
    check_that("posts at once", len(good) <= most, f"{most:g} at most", len(good))
    for answer in answers:
        check_that(f"status of a post: {answer}", answer.status in (201, 429), "201 or 429", answer.status)
        if answer.status == 429:
            check_that("Retry-After of 429", (answer.fields["Retry-After"] or "").isdigit(), "seconds", answer.fields)
            world.peer.count("429")
    for answer in good:
        world.posts[answer.data["id"]] = world.Post(answer.data, None, False)


async def large(world):
    """Finds the longest text that is accepted. Its frames and those of its edits keep to the limit."""
    wire, ivy = world.wire, world.token("ivy")
    stream = await wire.open(ivy, {"Holdfast-Events": "1"})
    least, most = 9000, 10_001
    while most - least > 1:
        size = (least + most) // 2
        texts = [world.text(size=size).ljust(size, "x")[:size] for _ in range(2)]
        world.used.update(texts)
        answer = await no_limit(wire, "POST", f"{API}/messages", ivy, {"shop_id": SHOP, "message": texts[0]})
        check_that(f"status of a text of {size}: {answer}", answer.status in (201, 413), "201 or 413", answer.status)
        if answer.status == 413:
            most = size
            continue
        least, post = size, answer.data
        record = world.posts[post["id"]] = world.Post(post, None, False)
        answer = await no_limit(wire, "PUT", f"{API}/messages", ivy, {"message_id": post["id"], "message": texts[1]})
        check_that(f"status of an edit of {size}: {answer}", answer.status in (200, 413), "200 or 413", answer.status)
        wanted = [texts[0]]
        if answer.status == 200:
            wanted.append(texts[1])
            record.text, record.changed = texts[1], answer.data.get("changed")
            record.texts.add(texts[1])
        check(f"texts of frames of {size}", wanted, [f["message"] for f in await receive(stream, len(wanted))])
    world.peer.count("bytes of the longest text", least)
    await stream.close()


async def ending(world):
    """A socket of a server that stops."""
    stream = await world.wire.open(world.token("jon"))
    await asyncio.sleep(0.2)
    world.backend.stop()
    frames = await receive(stream, 2)
    check("frames of a server that stops", ["draining"], [f.get("type") for f in frames])
    check("close code of a server that stops", 1001, stream.close_code)


async def absences(world):
    """A client comes back after so many large edits that they do not fit into one answer."""
    peer, wire, token, eve = world.peer, world.wire, world.token("gina"), world.token("eve")

    async def change(method, body):
        answer = await no_limit(wire, method, f"{API}/messages", token, body)
        check_that(f"status of {method}: {answer}", answer.status in (200, 201), "200 or 201", answer.status)
        return answer.data

    posts = [await change("POST", {"shop_id": SHOP, "message": world.text(size=30)}) for _ in range(64)]
    known = (await world.page(eve, {"page": 1, "limit": 1}, True))["head"]
    away = []
    for number, post in enumerate(posts):
        message = await change("PUT", {"message_id": post["id"], "message": world.text(size=9000)})
        away.append(message)
        record = world.posts[post["id"]] = world.Post(post, None, False)
        record.text, record.changed = message["message"], message.get("changed")
        record.texts.add(record.text)
        world.gone[post["message"]] = time.monotonic()
        if number == 9:
            # 10 edits of 9,000 bytes are within the limits of arrears, 16 are not.
            await arrears(world, eve, known, away, True)
        elif number == 15:
            await arrears(world, eve, known, away, False)
    place, found, pages = known, {}, 0
    while pages == 0 or place != page["head"]:
        page = await world.page(eve, {"page": 1, "limit": 3, "known": place}, True)
        pages += 1
        check("newest messages of a page with known", [p["id"] for p in posts[:-4:-1]], [
            m["id"] for m in page["messages"]])
        check_order("versions of changes", [version(m) for m in page["changes"]])
        check_that("bytes of changes", bodies(page["changes"]) <= 2**19, "512 KiB at most", bodies(page["changes"]))
        through = page["changes_through"]
        check_that("changes_through", offset(place) < offset(through) <= offset(page["head"]),
                   f"{place} < it <= {page['head']}", through)
        found |= {m["id"]: m["message"] for m in page["changes"]}
        # Without being complete the page has as much as the limits allow, but at least one entry.
        check_that("entries of an incomplete page", through == page["head"] or bodies(
            page["changes"]) > 2**19 - 20_000, "about 512 KiB", bodies(page["changes"]))
        place = through
    check_that("pages of 64 edits of 9,000 bytes", pages > 1, "2 or more", pages)
    wanted = {m["id"]: m["message"] for m in away}
    check("changes of all pages, and those of the newest messages",
          wanted, found | {m["id"]: m["message"] for m in page["messages"]})
    peer.count("pages of changes", pages)
    page = await world.page(eve, {"page": 1, "limit": 3, "known": "0000000000000001:1"}, True)
    check("known of another log", False, page["recovered"])


async def receive(stream, number):
    """Returns the next frames, or fewer if they do not come in 5 s."""
    frames = []
    try:
        while len(frames) < number:
            frames.append(check_frame(await asyncio.wait_for(stream.recv(), 5))[1])
    except BAD:
        pass
    return frames


async def without_events(world):
    """Positions without events: only a stretch without edits and deletions can be sent as arrears."""
    wire, hal = world.wire, world.token("hal")
    place = (await world.page(hal, {"page": 1, "limit": 1}, False))["head"]
    posts = []
    for step in range(5):
        if step < 3:
            answer = await no_limit(wire, "POST", f"{API}/messages", hal, {
                "shop_id": SHOP, "message": world.text(size=30)})
            posts.append(answer.data)
        elif step == 3:
            answer = await no_limit(wire, "PUT", f"{API}/messages", hal, {
                "message_id": posts[0]["id"], "message": world.text(size=30)})
            posts[0] |= {"message": answer.data["message"]}
        else:
            answer = await no_limit(wire, "DELETE", f"{API}/messages/{posts[2]['id']}", hal)
        if step < 2:
            continue
        stream = await wire.open(hal, {"Holdfast-After": place})
        try:
            check(f"Holdfast-After without events, step {step}", place if step == 2 else None,
                  stream.response_headers.get("Holdfast-After"))
            if step == 2:
                check("frames without events", posts, await receive(stream, 3))
        finally:
            await stream.close()
    page = await world.page(hal, {"after": place, "limit": 100}, False)
    check("messages after a position without events", [(m["id"], m["message"]) for m in posts[:2]],
          [(m["id"], m["message"]) for m in page["messages"]])
    for post in posts:
        world.posts[post["id"]] = record = world.Post(post, None, False)
        record.is_going = record.is_gone = post is posts[2]
        record.changed = answer.data["changed"] if record.is_gone else None


async def arrears(world, token, place, away, is_within):
    stream = await world.wire.open(token, {"Holdfast-Events": "1", "Holdfast-After": place})
    try:
        fields = stream.response_headers
        check(f"Holdfast-After for {len(away)} large edits", place if is_within else None,
              fields.get("Holdfast-After"))
        if is_within:
            frames = await receive(stream, len(away))
            check("arrears", [(m["id"], m["message"]) for m in away], [(f["id"], f["message"]) for f in frames])
            check("version of the last arrear", fields["Holdfast-Head"], frames[-1]["changed"])
    finally:
        await stream.close()


async def speaks_plain(peer):
    """A plain server sends no events, has no positions, and ignores what asks for them."""
    backend = Backend(peer, "--plain")
    backend.data = peer.path("plain")
    backend.start()
    wire, token = Wire(backend.port), make_token(peer, backend, "ann", SHOP)
    stream = await wire.open(token, {"Holdfast-Events": "1", "Holdfast-After": "0000000000000001:1"})
    check("fields of a plain upgrade", [], [n for n in stream.response_headers if n.lower().startswith("holdfast")])
    names = []
    for text in ("plain one", "plain two", "plain three"):
        answer = await wire.ask("POST", f"{API}/messages", token, {"shop_id": SHOP, "message": text})
        check(f"status of a plain post: {answer}", 201, answer.status)
        check_that("members of a plain message", set(ORIGINAL) <= set(answer.data) and not
                   answer.data.get("position"), "no position", answer.data)
        names.append(answer.data["id"])
    for method, path, body in (("PUT", f"{API}/messages", {"message_id": names[0], "message": "plain four"}),
                               ("DELETE", f"{API}/messages/{names[1]}", None)):
        answer = await wire.ask(method, path, token, body)
        value = json.loads(answer.body)
        check(f"answer to a plain {method}: {answer}", (200, ["message"], str), (
            answer.status, list(value), type(value.get("message"))))
    for query in ({"page": 1, "limit": 5}, {"after": "0000000000000001:1", "limit": 5}, {
            "before_id": names[2], "limit": 5}):
        answer = await wire.ask("GET", f"{PAGES}?{urllib.parse.urlencode(query)}", token, None,
                                {"Holdfast-Events": "1"})
        check(f"status of a plain page {query}: {answer}", 200, answer.status)
        check(f"texts of a plain page {query}", ["plain three", "plain four"], [
            m["message"] for m in answer.data["messages"]])
        check_that("members of a plain page", not {"head", "deleted", "through"} & {
            k for k, v in answer.data.items() if v is not None}, "none of positions", sorted(answer.data))
    frames = await receive(stream, 3)
    check("frames of a plain server", ["plain one", "plain two", "plain three"], [f["message"] for f in frames])
    try:
        check("a fourth frame of a plain server", None, await asyncio.wait_for(stream.recv(), 0.3))
    except asyncio.TimeoutError:
        pass
    await stream.close()
    backend.stop()
    peer.count("plain requests", 8)
