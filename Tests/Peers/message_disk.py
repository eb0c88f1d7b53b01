"""Small disks that can be filled, for message_client.py. They need no rights if users may have namespaces."""
import ctypes
import errno
import os
import shutil

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, NEW_USERS = 0x20000, 0x10000000
PRIVATE, RECURSIVE, DETACH = 1 << 18, 1 << 14, 2


def call(name, result):
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def enter():
    """Moves this program into a namespace in which it may mount. Call it before threads are started."""
    user, group = os.getuid(), os.getgid()
    try:
        call("unshare", LIBC.unshare(NEW_MOUNTS))
    except OSError:
        call("unshare", LIBC.unshare(NEW_MOUNTS | NEW_USERS))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    call("mount", LIBC.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None))


class Disk:
    """A file system in memory, mounted on a folder of a run. Without a namespace it is that folder alone."""

    def __init__(self, peer, name, mebibytes, is_small):
        self.place, self.is_small = peer.path(name), is_small
        os.mkdir(self.place, 0o700)
        if is_small:
            call("mount", LIBC.mount(b"tmpfs", self.place.encode(), b"tmpfs", 0,
                                     f"size={mebibytes}m,mode=700".encode()))
            peer.at_end.append(self.leave)

    def path(self, name):
        return os.path.join(self.place, name)

    def fill(self, left=0):
        """Fills the disk but for some pages of 4 KiB. May be repeated while programs free space."""
        block = bytes(1 << 20)
        with open(self.path("filler"), "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(block[:size])
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
            if left:
                file.truncate(max(0, file.tell() - left * 4096))

    def room(self):
        """Returns the free space in bytes."""
        found = os.statvfs(self.place)
        return found.f_bavail * found.f_frsize

    def empty(self):
        if os.path.exists(self.path("filler")):
            os.remove(self.path("filler"))

    def leave(self, is_kept):
        """Removes the disk at the end of a run. Its files remain if they are kept."""
        self.empty()
        copy = self.place + "-kept"
        if is_kept:
            shutil.copytree(self.place, copy)
        LIBC.umount2(self.place.encode(), DETACH)
        os.rmdir(self.place)
        if is_kept:
            os.rename(copy, self.place)
