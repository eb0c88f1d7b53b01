"""The command line of `scripts/torture`."""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback

from processes import Clock
from world import World

HELP = """Tortures a backend, a phone and a consumer as processes: kills, freezes, full disks, clock jumps.

In every round a client posts, replies, edits, deletes and uploads images by REST (as a form, as a
body and in pieces, some of which are cut), and a second phone does the same by commands with an
outbox, some of which are killed. Changes with an unknown outcome are repeated with their key, and
some answers are lost on purpose. Meanwhile faults occur. Then all faults end, and these promises are checked:

  - the server has what it confirmed, in the last version, and nothing that was deleted;
  - the phone's history and the result of a consumer that applies edits and deletions are those
    messages, each once, in order, without a gap;
  - each run of the consumer begins right after its last acknowledgement;
  - the second phone's outbox is empty, and what it shows is the server's last version;
  - the image of each message can be downloaded with its bytes; that of a deleted message, or of
    one that an edit took it from, cannot; each file of an image belongs to a message or to an
    image that waits for one;
  - no file of the backend or of a phone contains a text that was deleted or replaced, write-ahead
    logs included, and the server's log contains no text.

Rounds alternate between a server with positions and a plain one. From a plain server the phone may
show deleted messages and old texts (decision 0011), but not on the newest page: each round ends
with an edit and a deletion there. The seed determines the plan. The timing of processes and disks
differs from run to run.

The line of a round has the posts that were accepted, the changes with an unknown outcome, the
messages and images on the server, and the commands that were confirmed, killed and failed.

Full disks need root, to mount small file systems, and clock jumps need a C compiler. Faults that
are not possible are left out and named."""


def parser():
    words = argparse.ArgumentParser(
        prog="torture", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("program", help="the built holdfast")
    words.add_argument("--rounds", type=int, default=60, help="how many rounds (60)")
    words.add_argument("--seconds", type=float, default=4, help="seconds of faults a round (4)")
    words.add_argument("--seed", type=int, default=1, help="fixes the plan (1)")
    words.add_argument(
        "--server", choices=["positions", "plain"], action="append", metavar="KIND",
        help="only this kind of server: positions or plain")
    words.add_argument(
        "--idle", action="store_true", help="this machine does nothing else: a phone has all messages "
        "within 90 s of the last fault, and files have no deleted text within 5 s and 5 s for the round's end; "
        "without the option, both have 5 minutes")
    return words


def interrupt(*_):
    """Ends the run. A second signal does not disturb its end."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    options = parser().parse_args()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, interrupt)
    chance = random.Random(options.seed)
    directory = tempfile.mkdtemp(prefix="holdfast-torture-")
    Clock.compile(directory)
    if Clock.library is None:
        print("torture: without clock jumps; they need a C compiler")
    worlds, world, kind = [], None, None
    code = 0
    try:
        for kind in options.server or ("positions", "plain"):
            world = World(options.program, f"{directory}/{kind}", kind == "plain", chance, options.idle)
            worlds.append((kind, world))
            world.start()
        if not worlds[0][1].disks[0].is_small:
            print("torture: without full disks; they need root and tmpfs")
        for number in range(1, options.rounds + 1):
            kind, world = worlds[number % len(worlds)]
            line = world.round(number, options.seconds)
            print(f"{number:3} {kind:9} {line}: {', '.join(world.names)}", flush=True)
        for kind, world in worlds:
            print(f"{kind}: {world.summary()}")
    except Exception as failure:  # a broken promise, or a command that failed
        traceback.print_exc(file=open(directory + "/traceback", "w", encoding="utf-8"))
        print(
            f"torture: {kind}, after {', '.join(world.names) if world else 'nothing'}: {failure}; "
            f"everything is kept in {directory}")
        code = 1
    except KeyboardInterrupt:
        print("torture: ended by the user", file=sys.stderr)
        code = 130
    finally:
        for _, world in worlds:
            world.end(keep=code == 1)
    if code != 1:
        shutil.rmtree(directory, ignore_errors=True)
    return code
