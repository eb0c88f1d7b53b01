"""Checks of the words of the page: its sentences, its moments and its tips."""

from pages import FRAMES
from pictures import FACTS, PictureChecks, element, trace


class Stories(PictureChecks):
    """Checks of what pages say about traces."""

    def run(self):
        for part in (self.reasons, self.sentences, self.late, self.restarts, self.faults,
                     self.silences):
            part()

    def story_of(self, header, facts):
        """Returns the sentences of a trace, and the words of its moments."""
        page = self.page_of(element(trace(header, facts)))
        story = page.locator("#story").inner_text()
        moments = page.locator("#moments li").all_inner_texts()
        return story, [" | ".join(words.split("\n")) for words in moments]

    def tells(self, name, seen, *expected):
        missing = [words for words in expected if words not in str(seen)]
        self.check(f"tells {name}", not missing, (missing, seen))

    def reasons(self):
        words = ["silent", "no pong", "no answer", "network changed", "background", "refused",
                 "close 1001", "HTTP 503", "login page", "no route", "unknown name", "ended",
                 "reset", "idle", "rejected", "superseded", "offline", "TLS", "protocol", "proxy",
                 "local", "killed", "sign in", "rate limit", "settling", "a new reason", ""]
        facts = []
        for number, why in enumerate(words):
            facts += [
                {"t": number, "lane": "attempt", "kind": "open", "say": "o", "attempt": number},
                {"t": number + .2, "lane": "attempt", "kind": "up", "say": "u", "attempt": number},
                {"t": number + .8, "lane": "attempt", "kind": "end", "say": "e", "attempt": number,
                 "why": why, "lost": True}]
        page = self.page_of(element(trace(facts=facts)))
        titles = page.locator(".moment strong").all_inner_texts()
        good = (len(titles) == len(words) == len(set(titles)) and all(titles)
                and not page.problems)
        self.check("every reason has a title", good, titles)
        for title in ("Closed by the server (1001 going away)", "HTTP 503 service unavailable",
                      "A new reason", "Connection refused"):
            self.check(f"a title: {title}", title in titles, titles)

    def sentences(self):
        """Checks the headline: messages, findings, links without a connection, uploads."""
        messages = [
            {"t": 4 + at, "lane": "data", "kind": "message", "say": "Shown.", "made": made,
             "via": via} for at, (made, via) in enumerate(
                 [(4, "live"), (-2, "live"), (5, "catchUp"), (6, "poll")])]
        facts = sorted([*FACTS, *messages], key=lambda fact: fact["t"])
        for fact in facts:
            fact.pop("by", None)
        story, _ = self.story_of({}, facts)
        self.tells("which messages were late", story,
                   "4 messages shown, 3 late (1 fetched later, 1 polled, 1 more than 5 s after",
                   "whether messages are missing is not known", "Checked: no findings.")
        accepted = [{"t": 3, "lane": "server", "kind": "accepted", "say": "Accepted."}] * 4
        story, _ = self.story_of({"world": True, "source": "journal"},
                                 sorted([*facts, *accepted], key=lambda fact: fact["t"]))
        self.tells("what the server had", story, "none missing", "The journal has no findings.")
        leave = {"t": 9, "lane": "user", "kind": "leave", "say": "The user leaves."}
        idle = {"t": 9, "lane": "link", "kind": "state", "say": "Off.", "state": "idle"}
        story, moments = self.story_of({}, [
            FACTS[0], FACTS[4], FACTS[3],
            {"t": 1.5, "lane": "attempt", "kind": "end", "say": "Refused.", "attempt": 1,
             "why": "refused", "lost": True}, leave, idle])
        self.tells("of a link that never connected", story,
                   "It did not connect in 9 s (1 attempt, refused).")
        self.check("no gap without a connection", "gap" not in story, story)
        self.tells("of its end", moments, "switched off, 7.5 s later", "No longer wanted")
        post = {"lane": "data", "kind": "post", "say": "Sent.", "from": 1}
        story, _ = self.story_of({}, [
            FACTS[0], {**idle, "t": 0}, {**post, "t": 2, "ok": True}, {**post, "t": 3, "ok": False},
            {**leave, "t": 4}])
        self.tells("of uploads", story, "It sent 2 uploads in 4 s, 1 accepted, 1 failed.")
        same = [{**FACTS[6], "t": 2 + at / 2} for at in range(6)]
        page = self.page_of(element(trace(facts=[*FACTS[:6], *same])))
        many = page.evaluate("picture.state.models[0].bands.items"
                             ".filter(one => one.state === 'connected').length")
        self.check("a state that is told again is drawn once", many == 1, many)

    def late(self):
        """Checks that the legend and the sentence name the ways of messages that occur."""
        shown = {"lane": "data", "kind": "message", "say": "Shown."}
        live = {**shown, "t": 4, "made": 4, "via": "live"}
        fetched = {**shown, "t": 17, "via": "catchUp"}
        history = {**shown, "t": 3, "via": "history"}
        slow = "more than 5 s"
        for name, messages, said, entries in (
                ("live", [live], "1 message shown, none late", ["live"]),
                ("history", [{**history, "made": 3}, live],
                 "2 messages shown (1 of the history), none late", ["live", "of the history"]),
                ("missed", [{**history, "made": 2}], "1 late (fetched later)", ["late: fetched"]),
                ("at the limit", [{**live, "made": -1}], "none late", ["live"]),
                ("slow", [{**live, "made": -1.1}], f"1 late ({slow} after they were made)",
                 [f"late: after {slow}"]),
                ("both", [{**live, "made": -1.1}, {**fetched, "made": 9}], "2 late (1 fetched",
                 [f"late: fetched, or after {slow}"])):
            facts = sorted([*FACTS[3:8], *messages, *FACTS[8:]], key=lambda fact: fact["t"])
            facts = [{key: fact[key] for key in fact if key != "by"} for fact in facts]
            story, _ = self.story_of({}, facts)
            self.tells(f"when messages were late ({name})", story, said)
            legend = [words.replace(",", "", 1) for words in
                      self.shown.locator("#legend li").all_inner_texts() if "message" in words]
            self.check(f"the legend has what occurs ({name})",
                       legend == [f"message {words}" for words in entries], legend)

    def restarts(self):
        """Checks kills of the app, told and inferred, and the numbers of connections."""
        app = {"lane": "device", "kind": "app", "say": "App."}
        again = [
            {**app, "t": 14, "value": "launched"},
            *({**fact, "t": 13 + fact["t"]} for fact in FACTS[3:8] if fact["kind"] != "in")]
        for fact in again:
            fact.pop("by", None)
        killed = [
            {**app, "t": 8, "value": "killed"},
            {"t": 8, "lane": "attempt", "kind": "end", "say": "Over.", "attempt": 1,
             "why": "killed", "lost": True}]
        fault = {"t": 8, "until": 13, "lane": "network", "kind": "trouble", "say": "Killed.",
                 "name": "phone killed"}
        for name, facts in (("told", killed), ("inferred", [fault])):
            story, moments = self.story_of({}, [*FACTS[:8], *facts, *again])
            self.tells(f"of a kill ({name})", story, "It never dropped",
                       "killed once (not running for 6 s)", "not counted as a gap")
            self.tells(f"of the next run ({name})", moments, "The app was killed", "run 2",
                       "Not running for 6 s")
        states = [{"t": at, "lane": "link", "kind": "state", "say": "S.", "state": state}
                  for at, state in ((13, "standby"), (14, "connecting"), (14.5, "standby"))]
        facts = sorted([*FACTS[:9], *states, *FACTS[10:]], key=lambda fact: fact["t"])
        for fact in facts:
            fact.pop("by", None)
        more = {"t": 15.2, "lane": "attempt", "kind": "end", "say": "No.", "attempt": 2,
                "why": "refused", "lost": True}
        third = [{**facts[at], "attempt": 3, "t": 15.5 + at / 100} for at in (-3, -2)]
        _, moments = self.story_of({}, [*facts[:-2], more, *third, {**facts[-1], "t": 16}])
        self.tells("how long it polled in all", moments, "Polled for 2.5 s instead")
        self.tells("which connection came back", moments, "with connection 3, the 2nd try")

    def faults(self):
        """Checks which fault explains a loss at 13 s."""
        for expected, times in (
                ("in force", {"before": (8, 9), "in force": (12.9, 13.2), "after": (13.3, 15)}),
                ("in force", {"first": (12, 13.5), "in force": (13, 13)}),
                ("after", {"before": (8, 9), "after": (13.3, 15), "later": (13.4, 15)}),
                ("before", {"first": (7, 8), "before": (8, 9)})):
            faults = [{"t": begin, "until": end, "lane": "network", "kind": "trouble",
                       "say": "A fault.", "name": name} for name, (begin, end) in times.items()]
            facts = sorted([*FACTS, *faults], key=lambda fact: fact["t"])
            facts = [{key: fact[key] for key in fact if key != "by"} for fact in facts]
            _, moments = self.story_of({}, facts)
            self.tells(f"of {len(faults)} faults the one that is {expected}", moments,
                       f"{expected.capitalize()}, noticed")

    def silences(self):
        """Checks that a silence crosses the limit at the limit, and what a suspended app says."""
        app = {"lane": "device", "kind": "app", "say": "App."}
        facts = [*FACTS[:8], {**app, "t": 5, "value": "suspended"},
                 {**app, "t": 28, "value": "resumed"}, {**FACTS[8], "t": 29}]
        page = self.page_of(element(trace(facts=facts)))
        page.evaluate("picture.show(0, 30, false)")
        page.evaluate(FRAMES)
        seen = page.evaluate("""() => {
          const { lanes } = picture;
          const lane = lanes.lane('silence');
          const canvas = document.getElementById('canvas');
          const ratio = canvas.width / lanes.width;
          const room = lane.height - 18;
          const y = lane.bottom - 6 - room / 1.12 + 3;
          const pen = canvas.getContext('2d');
          const color = time => [...pen.getImageData(lanes.x(time) * ratio, y * ratio, 1, 1).data];
          return [color(12.5), color(16), color(16.02), color(20)].map(([r, g, b]) => r - b > 60);
        }""")
        self.check("a silence crosses the limit at the limit", not seen[0] and any(seen[1:]), seen)
        page.evaluate("""() => {
          const { lanes } = picture;
          const lane = lanes.lane('silence');
          const box = document.getElementById('board').getBoundingClientRect();
          document.getElementById('board').dispatchEvent(new PointerEvent('pointermove', {
            clientX: box.left + lanes.x(22), clientY: box.top + lane.top + 20, bubbles: true }));
        }""")
        tip = page.locator("#tip").inner_text()
        self.tells("of a suspended app", tip, "19 s; asleep, could not check the limit of 10 s")
