import Foundation
import HoldfastProtocols
import HoldfastServerSockets
import HoldfastTestKit
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60)))
struct `Sockets speak TLS` {
  /// Runs `body` against a server with a new certificate.
  private static func serve(
    _ configure: (inout SocketServerConfiguration) -> Void = { _ in },
    _ body: (SocketsRig, _ certificate: String) async throws -> Void
  ) async throws {
    let certificate = try await SelfSigned()
    try await SocketsRig.run {
      $0.tls = TLSFiles(certificatePath: certificate.chain, keyPath: certificate.key)
      configure(&$0)
    } _: { rig in
      try await body(rig, certificate.chain)
    }
  }

  /// Runs Python code. It can use `c` (a TLS context), `connect(session)`, `get(s, path)` and
  /// `port`.
  private static func python(
    _ rig: SocketsRig, _ certificate: String, _ lines: String
  ) async throws -> String {
    let start = """
      import socket, ssl, sys
      port = \(rig.port)
      c = ssl.create_default_context(cafile='\(certificate)')
      def connect(session=None):
        s = c.wrap_socket(socket.create_connection(('127.0.0.1', port), 20),
          server_hostname='localhost', session=session)
        return s
      def get(s, path):
        s.sendall(('GET %s HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n' % path).encode())
        data = b''
        while not data.endswith(path.encode() + b' '): data += s.recv(65536)
        return data.decode().split('\\r\\n')[0]

      """
    return try await Shell.run(["python3", "-W", "ignore", "-c", start + lines])
  }

  @Test(arguments: ["TLSv1_2", "TLSv1_3"])
  func `serves TLS 1.2 and 1.3, negotiates HTTP 1.1 and resumes sessions`(version: String)
    async throws
  {
    try await Self.serve { rig, certificate in
      let said = try await Self.python(
        rig, certificate,
        """
        c.set_alpn_protocols(['h2', 'http/1.1'])
        c.maximum_version = ssl.TLSVersion.\(version)
        s = connect()
        print(get(s, '/a'), get(s, '/b'), s.version(), s.selected_alpn_protocol())
        s2 = connect(s.session)
        print(get(s2, '/c'), s2.session_reused)
        """)
      let name = version.replacing("_", with: ".")
      #expect(said == "HTTP/1.1 200 OK HTTP/1.1 200 OK \(name) http/1.1\nHTTP/1.1 200 OK True\n")
    }
  }

  @Test func `refuses TLS 1.1 and a client that speaks HTTP/2 only`() async throws {
    try await Self.serve { rig, certificate in
      let said = try await Self.python(
        rig, certificate,
        """
        def attempt():
          try: connect(); print('connected')
          except ssl.SSLError as e: print(e)
        c.set_alpn_protocols(['h2'])
        attempt()
        c.set_alpn_protocols(['http/1.1'])
        c.set_ciphers('ALL:@SECLEVEL=0')
        c.minimum_version = ssl.TLSVersion.TLSv1_1
        c.maximum_version = ssl.TLSVersion.TLSv1_1
        attempt()
        c.minimum_version = ssl.TLSVersion.TLSv1_2
        c.maximum_version = ssl.TLSVersion.TLSv1_3
        attempt()
        """)
      let lines = said.split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines.first?.contains("alert no application protocol") == true)
      #expect(lines.dropFirst().first?.contains("alert protocol version") == true)
      #expect(lines.last == "connected")
    }
  }

  @Test func `serves the openssl client and sends it one session ticket`() async throws {
    try await Self.serve { rig, certificate in
      let said = try await Shell.run(
        [
          "sh", "-c",
          "printf 'GET /x HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' | "
            + "openssl s_client -quiet -msg -verify_return_error -CAfile \(certificate) "
            + "-servername localhost -connect 127.0.0.1:\(rig.port)",
        ])
      #expect(said.contains("HTTP/1.1 200 OK"))
      #expect(said.contains("/x "))
      #expect(said.components(separatedBy: "NewSessionTicket").count == 2)
    }
  }

  @Test(arguments: [
    ("TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256", "AES_128_GCM"),
    ("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256", "CHACHA20_POLY1305"),
    ("TLS_AES_256_GCM_SHA384", "AES_256_GCM"),
  ])
  func `prefers AES-128, except for a client that prefers ChaCha20`(
    offered: String, agreed: String
  ) async throws {
    try await Self.serve { rig, certificate in
      let said = try await Shell.run(
        [
          "sh", "-c",
          "openssl s_client -brief -tls1_3 -ciphersuites \(offered) -CAfile \(certificate) "
            + "-connect 127.0.0.1:\(rig.port) </dev/null 2>&1",
        ])
      #expect(said.contains("Ciphersuite: TLS_\(agreed)_SHA"))
    }
  }

  @Test func `carries WebSocket messages larger than a record`() async throws {
    try await Self.serve {
      $0.webSocket.maxMessageBytes = 1_000_000
      $0.maxQueuedBytes = 10_000_000
    } _: { rig, certificate in
      let upgrade = SocketsClient.upgradeRequest().replacing("\r\n", with: "\\r\\n")
      let said = try await Self.python(
        rig, certificate,
        """
        import struct
        s = connect()
        s.sendall('\(upgrade)'.encode())
        f = s.makefile('rb')
        while f.readline() != b'\\r\\n': pass
        text = b'0123456789' * 70000
        for i in range(4):
          s.sendall(bytes([0x81, 0xff]) + struct.pack('>Q', len(text)) + bytes(4) + text)
          head = f.read(10)
          assert head == bytes([0x81, 127]) + struct.pack('>Q', len(text)), head
          print(f.read(len(text)) == text)
        s.sendall(bytes([0x88, 0x82, 0, 0, 0, 0, 3, 232]))
        print(f.read(4), f.read())
        """)
      #expect(said == "True\nTrue\nTrue\nTrue\nb'\\x88\\x02\\x03\\xe8' b''\n")
      #expect(try await rig.closed() == .peerClosed(code: 1000, reason: ""))
    }
  }

  @Test(arguments: ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{5}hello"])
  func `disconnects a client that does not use TLS`(bytes: String) async throws {
    try await Self.serve { rig, _ in
      let client = try rig.client()
      try client.send(bytes)
      _ = try client.readToEnd()
      #expect(await rig.server.run { _, hub in hub.connectionCount } == 0)
    }
  }

  @Test(arguments: ["", "\u{16}\u{3}\u{1}"])
  func `disconnects a client whose handshake takes too long`(bytes: String) async throws {
    try await Self.serve {
      $0.handshakeTimeout = .milliseconds(50)
    } _: { rig, _ in
      let client = try rig.client()
      try client.send(bytes)
      #expect(client.isAtEnd())
    }
  }

  @Test func `answers a TLS hello on the plain port with 400`() async throws {
    try await SocketsRig.run { rig in
      let client = try rig.client()
      try client.send([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3] + [UInt8](repeating: 7, count: 506))
      #expect(try client.response().status == 400)
      #expect(client.isAtEnd())
    }
  }

  @Test func `refuses a missing certificate file`() async throws {
    var configuration = SocketServerConfiguration()
    configuration.tls = TLSFiles(certificatePath: "/nowhere", keyPath: "/nowhere")
    let (_, continuation) = AsyncStream<SocketEvent>.makeStream()
    #expect(throws: SocketServerError.tls(detail: "/nowhere: No such file or directory")) {
      _ = try SocketServer(
        configuration,
        handler: SocketsHandler(answer: SocketsHandler.echo, continuation: continuation))
    }
    #expect(throws: SocketServerError.tls(detail: "/nowhere: No such file or directory")) {
      _ = try BoundPort(configuration)
    }
  }

  @Test func `the error names the host or port that cannot be bound`() async throws {
    func take(_ host: String, _ port: UInt16) -> SocketServerError? {
      var configuration = SocketServerConfiguration()
      configuration.host = host
      configuration.port = port
      do throws(SocketServerError) {
        _ = try BoundPort(configuration)
        return nil
      } catch { return error }
    }
    try await SocketsRig.run { rig in
      #expect(
        take("127.0.0.1", rig.port)
          == .bind(host: "127.0.0.1", port: rig.port, errno: EADDRINUSE))
      #expect(
        take("192.0.2.1", 0) == .bind(host: "192.0.2.1", port: 0, errno: EADDRNOTAVAIL))
      guard case .address = take("256.0.0.1", 0) else {
        Issue.record("accepted an invalid address")
        return
      }
    }
  }
}
