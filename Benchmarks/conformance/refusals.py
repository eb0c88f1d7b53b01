"""Checks that a real client refuses untrustworthy servers, each once and for the expected reason.

    refusals.py HOLDFAST-BENCH

The certificates are created with openssl at the start. Each server listens on its own port and counts
connections for a time in which a client that retries would make five attempts. Controls show that the
test can observe trust and retries: trusted servers are accepted, and a server that breaks off is retried.
"""

import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import warnings

PATIENCE = 8.0
HOSTS = "subjectAltName=IP:127.0.0.1,DNS:localhost"
ANY = "ALL:@SECLEVEL=0"
# The test deliberately uses old versions of TLS.
warnings.simplefilter("ignore", DeprecationWarning)


def openssl(folder: str, words: str) -> None:
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)


def make_certificates(folder: str) -> None:
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name in ["ca", "stranger"]:
        openssl(folder, f"req -x509 {curve} -keyout {name}.key -subj /CN={name} -days 30 -out {name}.pem")
    openssl(
        folder,
        f"req -x509 {curve} -keyout self.key -subj /CN=self -addext {HOSTS} -days 30 -out self.pem")
    leaves = [
        ("good", curve, HOSTS, "ca", "-days 30"),
        ("expired", curve, HOSTS, "ca", "-days -1"),
        ("wrong", curve, "subjectAltName=DNS:other.example", "ca", "-days 30"),
        ("foreign", curve, HOSTS, "stranger", "-days 30"),
        ("short", "-newkey rsa:1024 -nodes", HOSTS, "ca", "-days 30"),
        ("client", curve, HOSTS + "\nextendedKeyUsage=clientAuth", "ca", "-days 30"),
    ]
    for name, key, extensions, authority, days in leaves:
        with open(f"{folder}/{name}.names", "w", encoding="ascii") as file:
            file.write(extensions)
        openssl(folder, f"req -new {key} -keyout {name}.key -subj /CN={name} -out {name}.csr")
        openssl(
            folder,
            f"x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial"
            f" {days} -extfile {name}.names -out {name}.pem")


class Server:
    """A server that responds with 404 to every client that completes the TLS handshake."""

    def __init__(self, folder: str, leaf: str, version: str = "", ciphers: str = "") -> None:
        self.connections = 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.set_ciphers(ciphers or ANY)
        if leaf:
            self.context.load_cert_chain(f"{folder}/{leaf}.pem", f"{folder}/{leaf}.key")
        if version or ciphers:
            exactly = ssl.TLSVersion[version or "TLSv1_2"]
            self.context.minimum_version = self.context.maximum_version = exactly
        self.breaks_off = not leaf and not ciphers
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            peer, _ = self.listener.accept()
            self.connections += 1
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer: socket.socket) -> None:
        try:
            if self.breaks_off:
                return
            stream = self.context.wrap_socket(peer, server_side=True)
            stream.recv(65_536)
            stream.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except OSError:
            pass
        finally:
            peer.close()


def cases(folder: str) -> list[tuple[str, Server, str, str]]:
    """Returns for each case: description, server, the cause to report, and the number of tries."""
    return [
        ("expired certificate", Server(folder, "expired"), "tls.expired", "once"),
        ("certificate of another host", Server(folder, "wrong"), "tls.wrongHost", "once"),
        ("self-signed certificate", Server(folder, "self"), "tls.selfSigned", "once"),
        ("unknown authority", Server(folder, "foreign"), "tls.unknownAuthority", "once"),
        ("certificate for clients only", Server(folder, "client"), "tls.other", "once"),
        ("certificate with a key of 1,024 bits", Server(folder, "short"), "tls.other", "once"),
        ("TLS 1.0", Server(folder, "good", "TLSv1"), "tls.version", "once"),
        ("TLS 1.1", Server(folder, "good", "TLSv1_1"), "tls.version", "once"),
        ("ciphers without encryption only", Server(folder, "good", ciphers="eNULL:@SECLEVEL=0"),
         "tls.handshake", "once"),
        ("ciphers without authentication only", Server(folder, "", ciphers="aNULL:@SECLEVEL=0"),
         "tls.handshake", "once"),
        ("control: TLS 1.2, trusted", Server(folder, "good", "TLSv1_2"), "notFound", "any"),
        ("control: TLS 1.3, trusted", Server(folder, "good", "TLSv1_3"), "notFound", "any"),
        ("control: breaks off", Server(folder, ""), "ended", "many"),
    ]


def causes(program: str, folder: str, server: Server) -> list[str]:
    """Runs a client for `PATIENCE` seconds and returns the distinct causes in its statuses."""
    client = subprocess.Popen(
        [program, "follow", f"https://127.0.0.1:{server.port}", "--authorities", f"{folder}/ca.pem"],
        stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(PATIENCE, client.kill)
    timer.start()
    seen = []
    for line in client.stdout:
        words = line.split()
        if words[1] == "status" and words[3] not in ("-", *seen):
            seen.append(words[3])
    client.wait()
    return seen


def main(program: str) -> int:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        table = cases(folder)
        seen: dict[str, list[str]] = {}

        def play(name: str, server: Server) -> None:
            seen[name] = causes(program, folder, server)

        players = [threading.Thread(target=play, args=case[:2]) for case in table]
        for player in players:
            player.start()
        for player in players:
            player.join()
        print(f"{'server':<40} {'expected':<24} {'cause named':<24} tries")
        for name, server, cause, tries in table:
            # A connection that ends before the handshake may be reported as ended or as reset.
            same = seen[name] == [cause] or cause == "ended" and set(seen[name]) <= {"ended", "reset"}
            same &= {"once": server.connections == 1, "many": server.connections > 1}.get(tries, True)
            failures += not same
            print(f"{name:<40} {cause + ' ' + tries:<24} {' '.join(seen[name]) or '-':<24}"
                  f" {server.connections}{'' if same else ' WRONG'}")
    print(f"refusals: {len(table)} servers, {failures} wrong")
    return 1 if failures else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
