"""nginx with packaging/nginx/holdfast.conf in front of `holdfast serve`."""
import http.client
import ssl
import time

from message_wire import API
from peer import HANG, check, check_that, free_port, installed, main
from proxied import Proxied, shipped


def play(peer):
    proxied = Proxied(peer)
    site = peer.write("holdfast.conf", shipped(
        "nginx/holdfast.conf", ("server 127.0.0.1:8787", f"server 127.0.0.1:{proxied.backend.port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{proxied.port} ssl"), ("  listen [::]:443 ssl;\n", ""),
        ("listen 80", f"listen 127.0.0.1:{free_port()}"), ("  listen [::]:80;\n", ""),
        ("holdfast.example", "localhost"), ("/etc/ssl/holdfast/chain.pem", proxied.chain),
        ("/etc/ssl/holdfast/key.pem", proxied.key), ("/var/log/nginx/holdfast.log", peer.path("access"))))
    temporary = " ".join(f"{kind}_temp_path {peer.path(kind)};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = peer.write("nginx.conf", f"""
        daemon off; master_process off; pid {peer.path("pid")}; error_log stderr;
        events {{ worker_connections 64; }}
        http {{ access_log off; {temporary} include {site}; }}
        """)
    proxied.start(installed("nginx"), "-c", path)
    proxied.verify()
    check_log(peer, proxied.port)


def check_log(peer, port):
    """The log has the path of a request, and not its query."""
    client = http.client.HTTPSConnection("127.0.0.1", port, timeout=HANG, context=ssl._create_unverified_context())
    client.request("GET", f"{API}/bakery/messages/paginated?token=hush-hush", headers={"Host": "localhost"})
    check("status of a wrong token in the query", 401, client.getresponse().status)
    client.close()
    limit = time.monotonic() + HANG
    while f"GET {API}/bakery/messages/paginated HTTP/1.1" not in (log := read(peer.path("access"))):
        check_that("log of nginx", time.monotonic() < limit, "the request", log[-400:])
        time.sleep(0.05)
    check_that("log of nginx", "token=" not in log, "no query", log[-400:])


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    main(__doc__, play)
