import Foundation
import HoldfastServerParts
import HoldfastServerSockets
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of a backend whose certificate is renewed while it runs.
@Suite(.timeLimit(.minutes(60))) struct CertificateReloadTests {
  /// The two files that a backend reads, in a directory of their own.
  private struct Pair {
    let directory: String
    var chain: String { directory + "/chain.pem" }
    var key: String { directory + "/key.pem" }

    /// Replaces the content of the files by that of other certificates; `nil` for no change.
    func put(chain certificate: SelfSigned? = nil, key other: SelfSigned? = nil) throws {
      let all = [(certificate?.chain, chain), (other?.key, key)]
      for (source, target) in all {
        guard let source else { continue }
        try Data(contentsOf: URL(filePath: source)).write(to: URL(filePath: target))
      }
    }
  }

  /// Runs `body` with a backend that serves a certificate.
  private static func serve(
    _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig, Pair, SelfSigned) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    let (pair, first) = (Pair(directory: scratch.path), try await SelfSigned())
    try pair.put(chain: first, key: first)
    try await BackendRig.run {
      $0.certificate = .init(chainPath: pair.chain, keyPath: pair.key)
      configure(&$0)
    } _: { rig in
      try await body(rig, pair, first)
    }
  }

  private static func fingerprint(_ certificate: SelfSigned) async throws -> String {
    try await Shell.run([
      "openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", certificate.chain,
    ])
  }

  /// Returns the fingerprint of the certificate that a new connection gets.
  private static func served(by rig: BackendRig) async throws -> String {
    try await Shell.run([
      "sh", "-c",
      "openssl s_client -connect 127.0.0.1:\(rig.address.port) </dev/null 2>/dev/null | "
        + "openssl x509 -noout -fingerprint -sha256",
    ])
  }

  private static func figure(_ name: String, of rig: BackendRig) async throws -> Int? {
    let page = try await rig.backend.sockets().run { handler, hub in
      handler.metrics(.ok, on: hub)
    }
    let line = page.split(separator: "\n").first { $0.hasPrefix("holdfast_tls_\(name) ") }
    return line?.split(separator: " ").last.flatMap { Int($0) }
  }

  @Test func `a renewed certificate is for new connections, and an open one keeps the former`()
    async throws
  {
    try await Self.serve { rig, pair, first in
      #expect(try await Self.served(by: rig) == Self.fingerprint(first))
      let holder = try LabProcess([
        "python3", "-c",
        """
        import socket, ssl
        context = ssl.create_default_context(cafile='\(first.chain)')
        held = context.wrap_socket(
          socket.create_connection(('127.0.0.1', \(rig.address.port)), 60),
          server_hostname='localhost')
        def ask():
          held.sendall(b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')
          answer = b''
          while b'"ok"}' not in answer: answer += held.recv(65536)
          print(answer.split(b'\\r\\n')[0].decode(), flush=True)
        ask()
        input()
        ask()
        """,
      ])
      var lines = holder.lines.makeAsyncIterator()
      #expect(await lines.next() == "HTTP/1.1 200 OK")
      let second = try await SelfSigned()
      try pair.put(chain: second, key: second)
      try await rig.backend.reload()
      #expect(try await Self.served(by: rig) == Self.fingerprint(second))
      holder.send("")
      #expect(await lines.next() == "HTTP/1.1 200 OK")
      #expect(await holder.exit() == 0)
      #expect(try await Self.figure("certificate_reloads_total", of: rig) == 1)
      #expect(try await Self.figure("certificate_reload_failed", of: rig) == 0)
      let left = try await Self.figure("certificate_expiry_seconds", of: rig)
      // The certificates of the tests are valid for two days.
      #expect((172_000...172_800).contains(left ?? 0))
    }
  }

  @Test func `a link that leads to other files is found without a request`() async throws {
    // Kubernetes renames a link to a directory, so that both files change at once.
    let scratch = try Scratch()
    let files = FileManager.default
    var certificates: [SelfSigned] = []
    for name in ["1", "2"] {
      let certificate = try await SelfSigned()
      certificates.append(certificate)
      try files.createDirectory(atPath: scratch(name), withIntermediateDirectories: false)
      try Pair(directory: scratch(name)).put(chain: certificate, key: certificate)
    }
    try files.createSymbolicLink(atPath: scratch("data"), withDestinationPath: "1")
    for name in ["chain.pem", "key.pem"] {
      try files.createSymbolicLink(atPath: scratch(name), withDestinationPath: "data/\(name)")
    }
    let (lines, sink) = AsyncStream.makeStream(of: String.self)
    try await BackendRig.run {
      $0.certificate = .init(chainPath: scratch("chain.pem"), keyPath: scratch("key.pem"))
      $0.certificateInterval = .milliseconds(5)
      $0.log = { sink.yield($0) }
    } _: { rig in
      #expect(try await Self.served(by: rig) == Self.fingerprint(certificates[0]))
      try files.createSymbolicLink(atPath: scratch("next"), withDestinationPath: "2")
      try await Shell.run(["mv", "-T", scratch("next"), scratch("data")])
      for await line in lines where line.contains(#""event":"certificate_loaded""#) { break }
      // The loop replaces the certificate before it handles a later connection.
      #expect(try await Self.served(by: rig) == Self.fingerprint(certificates[1]))
      #expect(try await Self.figure("certificate_reloads_total", of: rig) == 1)
    }
  }

  @Test func `a key of another certificate is logged once, and used once its certificate is there`()
    async throws
  {
    try await Self.serve { rig, pair, first in
      let second = try await SelfSigned()
      try pair.put(key: second)
      for _ in 0..<3 {
        let error = await #expect(throws: BackendError.self) {
          try await rig.backend.reloadCertificate(isRequested: false)
        }
        #expect(error?.description.hasPrefix("the certificate cannot be used: ") == true)
      }
      #expect(try await Self.figure("certificate_reload_failed", of: rig) == 1)
      #expect(try await Self.served(by: rig) == Self.fingerprint(first))
      try pair.put(chain: second)
      try await rig.backend.reloadCertificate(isRequested: false)
      try await rig.backend.reloadCertificate(isRequested: false)
      #expect(try await Self.served(by: rig) == Self.fingerprint(second))
      #expect(try await Self.figure("certificate_reload_failed", of: rig) == 0)
      #expect(try await Self.figure("certificate_reloads_total", of: rig) == 1)
      await rig.backend.kill()
      let events = ["reload_failed", "certificate_loaded"].map { event in
        rig.lines.all.count { $0.contains("\"event\":\"\(event)\"") }
      }
      #expect(events == [1, 1])
    }
  }

  @Test(arguments: ["empty", "half", "text", "missing", "directory", "pipe"])
  func `files that cannot be used keep the former certificate, and block nothing`(kind: String)
    async throws
  {
    try await Self.serve { rig, pair, first in
      let whole = try String(contentsOfFile: first.chain, encoding: .utf8)
      let files = FileManager.default
      try files.removeItem(atPath: pair.chain)
      switch kind {
      case "missing": break
      case "directory":
        try files.createDirectory(atPath: pair.chain, withIntermediateDirectories: false)
      case "pipe": try await Shell.run(["mkfifo", pair.chain])
      case "empty": try "".write(toFile: pair.chain, atomically: false, encoding: .utf8)
      case "text": try "none\n".write(toFile: pair.chain, atomically: false, encoding: .utf8)
      case _:
        try String(whole.prefix(whole.count / 2)).write(
          toFile: pair.chain, atomically: false, encoding: .utf8)
      }
      await #expect(throws: BackendError.self) { try await rig.backend.reload() }
      #expect(try await Self.served(by: rig) == Self.fingerprint(first))
      #expect(try await Self.figure("certificate_reload_failed", of: rig) == 1)
      try? files.removeItem(atPath: pair.chain)
      try pair.put(chain: first)
      try await rig.backend.reload()
      #expect(try await Self.figure("certificate_reload_failed", of: rig) == 0)
    }
  }

  @Test(arguments: [
    ("20200101000000Z", "20200102000000Z", "it expired at 2020-01-02T00:00:00Z"),
    ("21000101000000Z", "21000102000000Z", "it is not valid before 2100-01-01T00:00:00Z"),
  ])
  func `a certificate that is not valid now is used at the start, but not in place of a valid one`(
    start: String, end: String, reason: String
  ) async throws {
    let other = try await SelfSigned(from: start, to: end)
    try await Self.serve { rig, pair, first in
      try pair.put(chain: other, key: other)
      let error = await #expect(throws: BackendError.self) { try await rig.backend.reload() }
      #expect(error?.description.contains("\(pair.chain): \(reason), and the one") == true)
      #expect(try await Self.served(by: rig) == Self.fingerprint(first))
      #expect(try await Self.figure("certificate_reload_failed", of: rig) == 1)
      let second = try await SelfSigned()
      try pair.put(chain: second, key: second)
      try await rig.backend.reload()
      #expect(try await Self.served(by: rig) == Self.fingerprint(second))
      await rig.backend.kill()
      #expect(
        rig.lines.all.contains { $0.contains(#""event":"reload_failed""#) && $0.contains(reason) })
    }
    try await BackendRig.run {
      $0.certificate = .init(chainPath: other.chain, keyPath: other.key)
    } _: { rig in
      #expect(try await Self.served(by: rig) == Self.fingerprint(other))
      try await rig.backend.reload()
      #expect(try await Self.figure("certificate_reloads_total", of: rig) == 1)
    }
  }

  @Test func `a certificate that fails does not keep the removed members from being reloaded`()
    async throws
  {
    try await Self.serve { rig, pair, _ in
      try "none\n".write(toFile: pair.chain, atomically: false, encoding: .utf8)
      try #"{"removed":[{"user":"ann","shop":"bakery"}]}"#.write(
        toFile: rig.configuration.dataDirectory + "/removed.json", atomically: true,
        encoding: .utf8)
      await #expect(throws: BackendError.self) { try await rig.backend.reload() }
      await rig.backend.kill()
      #expect(
        rig.lines.all.contains { $0.contains(#""event":"removed""#) && $0.contains("\"count\":1") })
    }
  }

  @Test(arguments: ["TLSv1_2", "TLSv1_3"])
  func `a session of the former certificate is not resumed`(version: String) async throws {
    try await Self.serve { rig, pair, first in
      let second = try await SelfSigned()
      let client = try LabProcess([
        "python3", "-W", "ignore", "-c",
        """
        import hashlib, socket, ssl
        context = ssl.create_default_context(cafile='\(first.chain)')
        context.load_verify_locations('\(second.chain)')
        context.maximum_version = ssl.TLSVersion.\(version)
        def connect(session=None):
          made = context.wrap_socket(
            socket.create_connection(('127.0.0.1', \(rig.address.port)), 60),
            server_hostname='localhost', session=session)
          made.sendall(b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')
          answer = b''
          while b'"ok"}' not in answer: answer += made.recv(65536)
          return made
        def show(made):
          print(made.session_reused, flush=True)
          return hashlib.sha256(made.getpeercert(True)).hexdigest()
        one = connect()
        former = show(one)
        two = connect(one.session)
        assert show(two) == former
        input()
        three = connect(two.session)
        assert show(three) != former
        show(connect(three.session))
        """,
      ])
      var lines = client.lines.makeAsyncIterator()
      #expect([await lines.next(), await lines.next()] == ["False", "True"])
      try pair.put(chain: second, key: second)
      try await rig.backend.reload()
      client.send("")
      #expect([await lines.next(), await lines.next()] == ["False", "True"])
      #expect(await client.exit() == 0)
    }
  }

  @Test func `a backend without TLS has no figures, and reloads nothing`() async throws {
    try await BackendRig.run { rig in
      try await rig.backend.reloadCertificate(isRequested: true)
      #expect(try await Self.figure("certificate_reloads_total", of: rig) == nil)
    }
  }
}
