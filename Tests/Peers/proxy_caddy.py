"""Caddy with packaging/caddy/Caddyfile in front of `holdfast serve`."""
from peer import free_port, installed, main
from proxied import Proxied, shipped


def play(peer):
    proxied = Proxied(peer)
    # Without an address of 127.0.0.1, Caddy would listen on every address of this machine.
    site = (f"https://localhost:{proxied.port} {{\n\tbind 127.0.0.1\n"
            f"\ttls {proxied.chain} {proxied.key}\n")
    path = peer.write("Caddyfile", f"{{\n\tadmin off\n\thttp_port {free_port()}\n\tauto_https disable_redirects\n}}\n"
                      + shipped("caddy/Caddyfile", ("holdfast.example {\n", site),
                                ("127.0.0.1:8787", f"127.0.0.1:{proxied.backend.port}")))
    proxied.start(installed("caddy"), "run", "--adapter", "caddyfile", "--config", path,
                  XDG_DATA_HOME=peer.path("caddy"), XDG_CONFIG_HOME=peer.path("caddy"), HOME=peer.path("caddy"))
    proxied.verify()


if __name__ == "__main__":
    main(__doc__, play)
