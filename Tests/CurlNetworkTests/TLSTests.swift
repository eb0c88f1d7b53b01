import HoldfastCore
import HoldfastPorts
import Testing

@testable import HoldfastCurlNetwork

@Suite(.timeLimit(.minutes(60)))
struct TLSTests {
  static func trusting() async throws -> CurlNetwork {
    try CurlNetwork(CurlConfiguration(authorities: await Certificates.shared.value.authority))
  }

  @Test(arguments: ["1.2", "1.3"])
  func `a configured authority is trusted, and the second dial resumes the TLS session`(
    version: String
  ) async throws {
    let server = try await TLSServer(.good, version: version)
    let network = try await Self.trusting()
    for session in ["new", "resumed", "resumed"] {
      let socket = await Opened(network, .to(server.socketURL))
      #expect(
        await socket.nextAfterOpening() == .text(Array("TLSv\(version) \(session) http/1.1".utf8)))
      // The message has more bytes than OpenSSL returns at once. None may remain in OpenSSL's
      // buffer.
      #expect(await socket.next() == .binary([UInt8](repeating: 0x78, count: 200_000)))
      await socket.handle.close(code: 1000, reason: "")
    }
    let response = try await network.send(.to(server.url))
    #expect(response.status == 200)
  }

  @Test(arguments: [
    (Certificates.Kind.expired, LinkFailure.TLSReason.expired), (.wrongHost, .wrongHost),
    (.selfSigned, .selfSigned),
  ])
  func `a bad certificate is refused for its own reason`(
    kind: Certificates.Kind, reason: LinkFailure.TLSReason
  ) async throws {
    let server = try await TLSServer(kind)
    let network = try await Self.trusting()
    let socket = await Opened(network, .to(server.socketURL))
    #expect(await socket.failure()?.reason == reason)
    let rest = await failure { () async throws(LinkFailure) in
      try await network.send(.to(server.url))
    }
    #expect(rest?.reason == reason)
  }

  @Test func `a certificate of an unconfigured authority is refused as unknown`() async throws {
    let server = try await TLSServer(.good)
    let network = try CurlNetwork()
    let socket = await Opened(network, .to(server.socketURL))
    #expect(await socket.failure()?.reason == .unknownAuthority)
    let rest = await failure { () async throws(LinkFailure) in
      try await network.send(.to(server.url))
    }
    #expect(rest?.reason == .unknownAuthority)
  }

  @Test func `a TLS session of a trusting client does not let another client skip verification`()
    async throws
  {
    let server = try await TLSServer(.good)
    let trusting = await Opened(try await Self.trusting(), .to(server.socketURL))
    _ = await trusting.nextAfterOpening()
    let socket = await Opened(try CurlNetwork(), .to(server.socketURL))
    #expect(await socket.failure()?.reason == .unknownAuthority)
  }

  @Test func `messages queued while the peer does not read arrive completely`() async throws {
    let server = try await TLSServer(.good)
    let authority = try await Certificates.shared.value.authority
    let network = try CurlNetwork(
      CurlConfiguration(authorities: authority, maxQueuedBytes: 300_000))
    let socket = await Opened(network, .to(server.socketURL + "/count"))
    _ = await socket.nextAfterOpening()
    _ = await socket.next()
    var count = 0
    while await socket.handle.send(text: [UInt8](repeating: 0x61, count: 10_001)) == .queued {
      count += 1
    }
    _ = try await network.send(.to(server.url))
    // An empty message fits once the queue has drained.
    while await socket.handle.send(text: []) != .queued { await Task.yield() }
    #expect(await socket.next() == .text(Array("\(count)".utf8)))
  }

  @Test func `a reset under TLS is a loss, and no signal ends the process`() async throws {
    let server = try await TLSServer(.good)
    let socket = await Opened(try await Self.trusting(), .to(server.socketURL + "/reset"))
    _ = await socket.nextAfterOpening()
    while await socket.handle.send(text: [0x61]) == .queued {}
    // The failure depends on whether a write or a read encounters the reset first. Both failures
    // are retried.
    let failure = await socket.failure()
    #expect(failure == .reset || failure == .ended)
  }

  @Test func `silence during the handshake is a TLS time-out for HTTP requests too`() async throws {
    let server = try TestServer { $0.drain() }
    let network = try await Self.trusting()
    let found = await timeout(in: .tls) { limit in
      await failure { () async throws(LinkFailure) in
        try await network.send(
          .to("https://127.0.0.1:\(server.listener.port)", timeout: limit))
      }
    }
    #expect(found == .timeout(.tls))
  }

  @Test func `a server that supports only an old TLS version is refused`() async throws {
    let server = try await TLSServer(.good, version: "1.1")
    let socket = await Opened(try await Self.trusting(), .to(server.socketURL))
    #expect(await socket.failure()?.reason == .version)
  }

  @Test func `a server without TLS fails the handshake`() async throws {
    let server = try TestServer { peer in
      peer.write(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
      peer.drain()
    }
    let socket = await Opened(
      try await Self.trusting(), .to("wss://127.0.0.1:\(server.listener.port)"))
    #expect(await socket.failure()?.reason == .notSpoken)
  }

  @Test(arguments: [true, false])
  func `a loss during the handshake is not reported as a TLS failure`(isReset: Bool) async throws {
    let server = try TestServer { peer in
      peer.receive()
      isReset ? peer.reset() : peer.end()
    }
    let socket = await Opened(
      try await Self.trusting(), .to("wss://127.0.0.1:\(server.listener.port)"))
    #expect(await socket.failure() == (isReset ? .reset : .ended))
  }

  /// A missing authority file must not lead to retries, since they cannot fix it.
  @Test func `a missing authority file is a TLS failure`() async throws {
    let network = try CurlNetwork(CurlConfiguration(authorities: "/nowhere/ca.pem"))
    let server = try await TLSServer(.good)
    let socket = await Opened(network, .to(server.socketURL))
    guard case .tls(.other, _) = await socket.failure() else {
      Issue.record("no failure of TLS")
      return
    }
  }
}

extension LinkFailure {
  fileprivate var reason: TLSReason? {
    guard case .tls(let reason, _) = self else { return nil }
    return reason
  }
}
