"""A Debian machine of its own for commands of operators: the service manager, files and network of this one.

It runs this machine's programs over a writable layer in memory, in namespaces. systemd is its first process,
so that units, users and sandboxes are real. The programs of the peer are outside, at the other end of a cable.
"""
import ctypes
import os
import shutil
import subprocess
import time

from peer import HANG, Broken, check_that, end_with_parent, installed, wait_for

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000
SYSTEMD = "/lib/systemd/systemd"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Arguments: a directory for mounts, that of the programs, that of the machine's cgroup.
BOOT = r"""
set -e
base=$1 programs=$2
echo $$ >"$3/cgroup.procs"
exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child bash -ec '
  base=$1 programs=$2
  mount --make-rprivate /
  mount -t tmpfs none "$base"
  mkdir "$base"/{upper,work,root}
  mount -t overlay overlay -o lowerdir=/,upperdir="$base"/upper,workdir="$base"/work "$base"/root
  cd "$base"/root
  mkdir -p srv/programs
  mount --bind -o ro "$programs" srv/programs
  mount -t proc proc proc
  # The settings of the kernel are those of the machine outside.
  mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  for folder in run dev tmp; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
  chmod 1777 tmp
  for name in null zero full random urandom tty; do
    touch "dev/$name" && mount --bind "/dev/$name" "dev/$name"
  done
  mkdir dev/shm dev/pts && ln -s /proc/self/fd dev/fd && ln -s pts/ptmx dev/ptmx
  mount -t tmpfs tmpfs dev/shm
  mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
  ip link set lo up
  hostname machine
  pivot_root . mnt
  umount -l /mnt
  exec env -i container=peer PATH="$PATH" '"$4"' --system --unit=basic.target --log-target=journal
' boot "$base" "$programs"
"""


def missing():
    """Returns why there can be no such machine here; `None` if there can be one."""
    for program, package in (("unshare", "util-linux"), ("ip", "iproute2"), ("make", "make"), (SYSTEMD, "systemd"),
                             ("dpkg-shlibdeps", "dpkg-dev"), ("nginx", "nginx-light"), ("prometheus", "prometheus"),
                             ("openssl", "openssl"), ("curl", "curl")):
        if not installed(program):
            return f"install {package}"
    if os.getuid() != 0:
        return "it needs root"
    try:
        place = cgroup()
    except OSError as error:
        return f"it needs a cgroup of its own: {error}"
    os.rmdir(place)
    names = subprocess.run(["unshare", "--mount", "--pid", "--net", "--cgroup", "--fork", "ip", "link", "add", "name",
                            "a1", "type", "veth", "peer", "name", "b1"], check=False, capture_output=True, text=True)
    return f"it needs namespaces: {names.stderr.strip()}" if names.returncode else None


def leave_network():
    """Moves this program to a network of its own. Call it before threads are started."""
    if LIBC.unshare(NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def cgroup(number=0):
    """Makes a cgroup, and returns its directory."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    root = next((words[4] for words in mounts if words[words.index("-") + 1] == "cgroup2"), "/sys/fs/cgroup")
    place = os.path.join(root, f"holdfast-peer-{os.getpid()}-{number}")
    os.mkdir(place)
    return place


class Machine:
    """A machine that runs until the peer ends."""

    def __init__(self, peer, number):
        """Starts a machine. Its network is 10.77.NUMBER.0/24."""
        self.peer, self.number = peer, number
        self.outside, self.inside = f"10.77.{number}.1", f"10.77.{number}.2"
        base, programs = peer.path(f"machine-{number}"), os.path.dirname(peer.program)
        os.mkdir(base)
        self.cgroup = cgroup(number)
        peer.at_end.append(self.leave)
        child = subprocess.Popen(
            ["bash", "-c", BOOT, "boot", base, programs, self.cgroup, SYSTEMD], stdin=subprocess.DEVNULL,
            stdout=peer.log, stderr=peer.log, preexec_fn=end_with_parent)
        peer.children.append(child)
        self.first = None
        wait_for("the machine starts", HANG, lambda: self.find(child))
        self.connect()
        state = wait_for("the service manager starts", HANG, self.state)  # "degraded" if a unit failed
        check_that("state of the service manager", state == "running", "running",
                   f"{state}: {self.run('systemctl --failed --no-pager --plain', check=False)}")

    def find(self, child):
        """Finds the first process of the machine once it is systemd."""
        with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        if child.poll() is not None:
            raise Broken("the machine starts", "it runs", f"exit status {child.returncode}, see the log")
        if children and os.readlink(f"/proc/{children[0]}/exe").endswith("/systemd"):
            self.first = int(children[0])
        return self.first

    def connect(self):
        """Lays a cable between the network of the peer and that of the machine."""
        end = f"cable{self.number}"
        for words in (f"link add name {end} type veth peer name cable netns {self.first}",
                      f"addr add {self.outside}/24 dev {end}", f"link set {end} up"):
            subprocess.run(["ip", *words.split()], check=True)
        self.run(f"ip addr add {self.inside}/24 dev cable && ip link set cable up")

    def state(self):
        state = self.run("systemctl is-system-running", check=False).strip()
        return state if state in ("running", "degraded") else None

    def run(self, script, check=True, timeout=HANG, folder="/root", **environment):
        """Runs a script in the machine, as its root. Returns what it printed."""
        variables = {"HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8", **environment}
        words = ["nsenter", f"--target={self.first}", "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup",
                 f"--wdns={folder}", "env", "-i", *(f"{name}={value}" for name, value in variables.items()),
                 "bash", "-euo", "pipefail", "-c", script]
        begun = time.monotonic()
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Broken(script, f"ends within {timeout} s", "it runs") from None
        output = done.stdout.decode(errors="replace")
        self.peer.log.write(f"$ {script}\n{output}({time.monotonic() - begun:.1f} s)\n".encode())
        self.peer.log.flush()
        if check:
            check_that(f"exit status of {script}", done.returncode == 0, "0", f"{done.returncode}: {output[-600:]}")
        return output

    def write(self, path, content, mode=0o644):
        """Writes a file of the machine, whose directory is made if it is missing."""
        target = f"/proc/{self.first}/root{path}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(target, mode)

    def copy(self, source, path):
        """Copies a file or a directory of this machine."""
        (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, f"/proc/{self.first}/root{path}")

    def leave(self, _):
        """Removes the machine's cgroups once all its processes have ended."""
        def is_empty():
            with open(os.path.join(self.cgroup, "cgroup.events"), encoding="ascii") as file:
                return "populated 0" in file.read()
        wait_for("the processes of the machine end", HANG, is_empty)
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            os.rmdir(folder)
