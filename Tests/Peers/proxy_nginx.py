"""nginx with packaging/nginx/holdfast.conf in front of `holdfast serve`."""
from peer import free_port, installed, main
from proxied import Proxied, shipped


def play(peer):
    proxied = Proxied(peer)
    site = peer.write("holdfast.conf", shipped(
        "nginx/holdfast.conf", ("server 127.0.0.1:8787", f"server 127.0.0.1:{proxied.backend.port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{proxied.port} ssl"), ("  listen [::]:443 ssl;\n", ""),
        ("listen 80", f"listen 127.0.0.1:{free_port()}"), ("  listen [::]:80;\n", ""),
        ("holdfast.example", "localhost"), ("/etc/ssl/holdfast/chain.pem", proxied.chain),
        ("/etc/ssl/holdfast/key.pem", proxied.key)))
    temporary = " ".join(f"{kind}_temp_path {peer.path(kind)};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = peer.write("nginx.conf", f"""
        daemon off; master_process off; pid {peer.path("pid")}; error_log stderr;
        events {{ worker_connections 64; }}
        http {{ access_log off; {temporary} include {site}; }}
        """)
    proxied.start(installed("nginx"), "-c", path)
    proxied.verify()


if __name__ == "__main__":
    main(__doc__, play)
