import Foundation
import Glibc
import HoldfastBackend
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast audit` with servers of this package and of other makers.
@Suite(.timeLimit(.minutes(60))) struct AuditCommandTests {
  /// The output of the command with `--json`.
  private struct Review {
    var verdicts: [Int: String] = [:]
    var evidence: [Int: String] = [:]

    /// Decodes and checks the output: 40 practices in order, and totals that add up.
    init(_ lines: [String]) throws {
      let objects = try lines.map { try [String: Any].reading($0) }
      #expect(objects.map { $0["number"] as? Int } == (1...40).map { $0 } + [nil])
      for object in objects.dropLast() {
        #expect(object["event"] as? String == "practice")
        #expect((object["title"] as? String)?.isEmpty == false)
        let number = try #require(object["number"] as? Int)
        verdicts[number] = try #require(object["verdict"] as? String)
        evidence[number] = try #require(object["evidence"] as? String)
        #expect(evidence[number]?.isEmpty == false)
        #expect(evidence[number]?.contains(OriginalServer.key) == false)
      }
      let summary = try #require(objects.last)
      #expect(summary["event"] as? String == "summary")
      let categories = try #require(summary["categories"] as? [[String: Any]])
      #expect(categories.count == 13)
      for verdict in ["met", "partly", "not", "unseen"] {
        let count = verdicts.values.count { $0 == verdict }
        #expect(summary[verdict] as? Int == count)
        #expect(categories.compactMap { $0[verdict] as? Int }.reduce(0, +) == count)
      }
    }

    func numbers(_ verdict: String) -> [Int] {
      verdicts.filter { $0.value == verdict }.keys.sorted()
    }

    /// Returns the practices with a verdict, except for those whose verdict depends on timing.
    ///
    /// On a busy machine, the audit can miss a time or an order of events. `VerdictTests` covers
    /// these practices.
    func untimed(_ verdict: String) -> [Int] {
      numbers(verdict).filter { ![14, 17, 22].contains($0) }
    }
  }

  /// Audits a server, and decodes the output.
  private static func review(_ url: String, key: String? = nil) async throws -> Review {
    try await CommandProcess.scratch { directory in
      var arguments = ["audit", url, "--json"]
      if let key {
        try (key + "\n").write(toFile: directory + "/key", atomically: true, encoding: .utf8)
        arguments += ["--key-file", directory + "/key"]
      }
      let outcome = try await CommandProcess.run(arguments)
      #expect(outcome.status == 0)
      #expect(outcome.errors == [])
      return try Review(outcome.output)
    }
  }

  /// The practices that an audit of the original cannot observe. All except 36 concern only
  /// clients.
  private static let unseen = [
    1, 2, 9, 10, 21, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
  ]

  @Test(.enabled(if: Maker.python != nil, "scripts/peers installs it"))
  func `the original without mistakes fails only the practices it never had`() async throws {
    try await OriginalServer.run { server in
      let review = try await Self.review(server.url, key: OriginalServer.key)
      #expect(review.untimed("unseen") == Self.unseen)
      #expect(review.untimed("not") == [15, 23, 24, 39])
      #expect(review.untimed("partly") == [12])
    }
  }

  @Test(.enabled(if: Maker.python != nil, "scripts/peers installs it"))
  func `detects each mistake of the original`() async throws {
    let mistakes = ["acks", "ids", "replay", "type"].flatMap { ["--mistake", $0] }
    try await OriginalServer.run(mistakes + ["--plain", "--version", "0.4.0"]) { server in
      let review = try await Self.review(server.url, key: OriginalServer.key)
      #expect(review.untimed("unseen") == Self.unseen)
      #expect(review.untimed("not") == [4, 12, 15, 18, 23, 24, 39])
      #expect(review.untimed("partly") == [13, 40])
      #expect(review.evidence[4]?.contains("Unknown message type: message_ack") == true)
    }
  }

  @Test(.enabled(if: Maker.python != nil, "scripts/peers installs it"))
  func `audits a server that omits one connected message`() async throws {
    try await OriginalServer.run(["--mistake", "connected"]) { server in
      let review = try await Self.review(server.url, key: OriginalServer.key)
      #expect(review.verdicts[4] == "met")
      #expect(review.verdicts[18] == "met")
    }
  }

  @Test func `this package's own backend meets every observable practice`() async throws {
    try await CommandProcess.scratch { directory in
      let backend = Backend(BackendConfiguration(dataDirectory: directory))
      let url = try await backend.start().url + "/session"
      let path = BackendConfiguration(dataDirectory: directory).sessionKeyPath
      let key = try String(contentsOfFile: path, encoding: .utf8)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let review = try await Self.review(url, key: key)
      await backend.kill()
      for number in review.untimed("not") + review.untimed("partly") {
        Issue.record("\(number): \(review.evidence[number] ?? "")")
      }
      // On a busy machine, the audit may end before the last evidence for practice 4 arrives.
      let unseen = review.untimed("unseen").filter { $0 != 4 }
      #expect(unseen == Self.unseen.filter { $0 != 36 })
    }
  }

  @Test func `reports a refused key, and leaves practices that need a login unseen`() async throws {
    try await CommandProcess.scratch { directory in
      let backend = Backend(BackendConfiguration(dataDirectory: directory + "/data"))
      let url = try await backend.start().url + "/session"
      try "another-key\n".write(toFile: directory + "/key", atomically: true, encoding: .utf8)
      let outcome = try await CommandProcess.run(
        ["audit", url, "--json", "--key-file", directory + "/key"])
      await backend.kill()
      #expect(outcome.status == 0)
      #expect(
        outcome.errors == [
          "holdfast audit: the server refused the key: what needs a login is unseen; "
            + "check --key-file"
        ])
      let review = try Review(outcome.output)
      let observed = "observed: it needs a login, and the server refused the key with `auth_error`"
      #expect(review.evidence[2]?.hasPrefix(observed) == true)
      #expect(review.verdicts[3] == "met")
    }
  }

  @Test(arguments: Maker.installed)
  func `an echo server is judged as a plain WebSocket server`(maker: Maker) async throws {
    try await PeerServer.run(maker, [.echo]) { server in
      let review = try await Self.review(server.url, key: OriginalServer.key)
      #expect(review.verdicts[3] == "met")
      #expect(review.verdicts[18] == "met")
      // The server may follow these practices with a protocol of its own.
      #expect(Set([4, 5, 6, 7, 11, 12, 20, 22, 23, 39]).isSubset(of: review.numbers("unseen")))
    }
  }

  @Test func `audits a server that accepts the upgrade and sends nothing`() async throws {
    try await PeerServer.run(.holdfast, [PlanEntry(expect: 1_000)]) { server in
      let review = try await Self.review(server.url)
      #expect(review.verdicts[3] == "met")
      #expect(review.verdicts[6] == "unseen")
      #expect(review.verdicts[15] == "unseen")
    }
  }

  @Test func `Markdown output has the form of the review`() async throws {
    try await PeerServer.run(.holdfast, [.echo]) { server in
      let url = server.url.replacing("ws://", with: "http://")
      let outcome = try await CommandProcess.run("audit", url, "--markdown")
      #expect(outcome.status == 0)
      let lines = outcome.output
      #expect(lines.first == "# WebSocket Implementation Recommendations")
      #expect(lines.count { $0.hasPrefix("#### ") } == 40)
      #expect(lines.count { $0.hasPrefix("**Status**: ") } == 40)
      // The rows are the heading, 13 categories, and the total.
      #expect(lines.count { $0.hasPrefix("| ") } == 15)
    }
  }

  @Test(.enabled(if: Maker.python != nil, "scripts/peers installs it"))
  func `Ctrl-C ends the audit immediately`() async throws {
    try await OriginalServer.run { server in
      let process = try CommandProcess.start(["audit", server.url])
      for await line in process.diagnostics where line.contains("scripts are over") { break }
      process.signal(SIGINT)
      #expect(await process.exit() == 1)
    }
  }

  @Test func `ends with 6 if nothing listens or responds`() async throws {
    let refused = try await CommandProcess.run("audit", "ws://127.0.0.1:1/session")
    #expect(refused.status == 6)
    let silent = try SilentPort()
    defer { silent.close() }
    let mute = try await CommandProcess.run("audit", "ws://127.0.0.1:\(silent.port)/session")
    #expect(mute.status == 6)
  }

  @Test(arguments: [
    [], ["ftp://127.0.0.1/"], ["ws://127.0.0.1/", "--json", "--markdown"],
    ["ws://192.0.2.1/session"],
  ])
  func `ends with 2 after an invalid command line`(arguments: [String]) async throws {
    #expect(try await CommandProcess.run(["audit"] + arguments).status == 2)
  }

  @Test(arguments: ["audit", "session"])
  func `a URL with another scheme is refused, and the error lists the valid schemes`(
    name: String
  ) async throws {
    let arguments =
      name == "audit" ? ["ftp://host/"] : ["--server", "ftp://host/", "--key-file", "k"]
    let outcome = try await CommandProcess.run([name] + arguments)
    #expect(outcome.status == 2)
    #expect(
      outcome.errors.joined(separator: " ").contains(
        "it must begin with wss:// or ws:// (or https:// or http://)"))
  }

  @Test func `a missing key file ends the command`() async throws {
    let outcome = try await CommandProcess.run(
      "audit", "ws://127.0.0.1:1/", "--key-file", "/nonexistent/key")
    #expect(outcome.status == 1)
  }
}

/// A port that accepts connections, but never reads from them.
private struct SilentPort {
  let port: UInt16
  private let descriptor: Int32

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, length) + listen(descriptor, 64)
          + getsockname(descriptor, pointer, &length)
      }
    }
    guard result == 0 else { throw PeerFailed(errors: ["no port"]) }
    port = UInt16(bigEndian: address.sin_port)
  }

  func close() { Glibc.close(descriptor) }
}
