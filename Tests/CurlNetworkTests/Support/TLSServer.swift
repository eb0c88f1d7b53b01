import HoldfastTestKit
import Testing

/// A TLS server in a separate process that uses Python's `ssl` and ends when this object is
/// released.
///
/// It upgrades `/socket`. It sends the TLS version, whether the session was resumed, and the
/// protocol that ALPN chose, either over that socket or in the body of any other response.
final class TLSServer {
  private let process: LabProcess
  let port: UInt16

  var socketURL: String { "wss://127.0.0.1:\(port)/socket" }
  var url: String { "https://127.0.0.1:\(port)/" }

  /// Starts a server that supports only `version`, which is `1.1`, `1.2` or `1.3`.
  init(_ kind: Certificates.Kind, version: String = "1.3") async throws {
    let folder = try await Certificates.shared.value.folder
    process = try LabProcess([
      "python3", "-c", Self.program, "\(folder)/\(kind).pem", "\(folder)/\(kind).key", version,
    ])
    var lines = process.lines.makeAsyncIterator()
    port = try #require(await lines.next().flatMap { UInt16($0) })
  }

  private static let program = """
    import base64, hashlib, os, socket, ssl, struct, sys, threading
    chain, key, version = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    context.set_ciphers('DEFAULT:@SECLEVEL=0')
    only = getattr(ssl.TLSVersion, 'TLSv' + version.replace('.', '_'))
    context.minimum_version = context.maximum_version = only
    context.set_alpn_protocols(['http/1.1'])
    listener = socket.create_server(('127.0.0.1', 0))
    print(listener.getsockname()[1], flush=True)

    go = threading.Event()

    def exactly(stream, count):
        data = b''
        while len(data) < count:
            data += stream.recv(count - len(data)) or sys.exit()
        return data

    def count(stream):
        go.wait()
        frames = 0
        while True:
            head = exactly(stream, 2)
            size = head[1] & 127
            if size == 126: size = int.from_bytes(exactly(stream, 2), 'big')
            elif size == 127: size = int.from_bytes(exactly(stream, 8), 'big')
            mask, payload = exactly(stream, 4), exactly(stream, size)
            if size == 0:
                return b'%d' % frames
            letters = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
            if letters != b'a' * size: return b'garbled'
            frames += 1

    def serve(plain):
        try:
            stream = context.wrap_socket(plain, server_side=True)
            head = b''
            while not head.endswith(b'\\r\\n\\r\\n'):
                head += stream.recv(4096)
            fields = dict(line.split(': ', 1) for line in head.decode().split('\\r\\n')[1:] if line)
            fields = {name.lower(): value for name, value in fields.items()}
            said = '%s %s %s' % (stream.version(),
                'resumed' if stream.session_reused else 'new', stream.selected_alpn_protocol())
            said = said.encode()
            if head.startswith(b'GET /socket'):
                key = fields['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
                accept = base64.b64encode(hashlib.sha1(key.encode()).digest())
                stream.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n'
                    b'Connection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + b'\\r\\n\\r\\n')
                stream.sendall(bytes([0x81, len(said)]) + said)
                big = bytes([0x82, 127]) + (200000).to_bytes(8, 'big') + b'x' * 200000
                stream.sendall(big)
                if head.startswith(b'GET /socket/count'):
                    said = count(stream)
                    stream.sendall(bytes([0x81, len(said)]) + said)
                stream.recv(4096)
                if head.startswith(b'GET /socket/reset'):
                    plain = socket.socket(fileno=stream.detach())
                    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    plain.close()
                    return
                stream.sendall(bytes([0x88, 0]))
                while stream.recv(4096):
                    pass
                # TLS 1.2 forgets a session that was not ended properly.
                stream.unwrap()
            else:
                go.set()
                stream.sendall(b'HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n'
                    b'Content-Length: %d\\r\\n\\r\\n' % len(said) + said)
        except Exception:
            pass
        plain.close()

    def watch():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """
}
