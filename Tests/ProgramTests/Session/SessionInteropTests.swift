import Foundation
import HoldfastBackend
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of the original's protocol, including its mistakes, with Python's `websockets` as the
/// peer.
@Suite(.timeLimit(.minutes(60)), .enabled(if: Maker.python != nil, "scripts/peers installs it"))
struct SessionInteropTests {
  private static let conversation = "33333333-3333-4333-8333-333333333333"

  // MARK: Their client, our server

  @Test func `websockets as client with compression is served by our server`() async throws {
    try await Self.serve(compressed: true)
  }

  @Test func `websockets as client without compression is served by our server`() async throws {
    try await Self.serve(compressed: false)
  }

  /// A running backend. The original's client connects to it with or without compression.
  private struct Served {
    let url: String
    let key: String
    let scratch: Scratch
    let isCompressed: Bool

    /// Runs the client until it ends, as the client of a session.
    func run(
      _ arguments: String..., session: String = "ann", conversation: String = conversation,
      key: String? = nil
    ) async throws -> OriginalClient {
      let client = try await OriginalClient(
        url, key: key ?? self.key, in: scratch,
        arguments + ["--session", session, "--conversation", conversation]
          + (isCompressed ? [] : ["--plain"]))
      #expect(client.status == 0)
      #expect(client.isCompressed == isCompressed)
      return client
    }
  }

  private static func serve(compressed: Bool) async throws {
    let scratch = try Scratch()
    let configuration = BackendConfiguration(dataDirectory: scratch("data"))
    let backend = Backend(configuration)
    let url = try await backend.start().session
    let key = try scratch.text(of: "data/session-key")
    let served = Served(url: url, key: key, scratch: scratch, isCompressed: compressed)
    do {
      try await speaks(served)
      try await replays(served)
      try await readsHistories(served)
      try await isRefused(served)
    } catch {
      await backend.kill()
      throw error
    }
    await backend.kill()
  }

  /// Checks that prompts without keys are answered, and that acknowledgements cause no error.
  private static func speaks(_ served: Served) async throws {
    // A single argument of a command line can be only slightly longer.
    let long = String(repeating: "a long text ", count: 10_000)
    let client = try await served.run(
      "--prompt", "one", "--prompt", "t\u{E9}xt \"two\"\n", "--prompt", "one", "--prompt", long,
      "--size-kb", "1024")
    #expect(
      client.types
        == ["hello", "connected", "ack"]
        + Array(repeating: ["ack", "response", "turn_complete"], count: 4).joined().dropLast())
    #expect(client.texts("text", of: "response") == ["one", "t\u{E9}xt \"two\"\n", "one", long])
    #expect(client.texts("session_id", of: "response") == .init(repeating: conversation, count: 4))
    #expect(Set(client.texts("message_id", of: "response")).count == 4)
    #expect(client.all("response").allSatisfy { $0["success"] as? Bool == true })
    #expect(client.code == 1000)
    let small = try await served.run("--resume", "--prompt", long, "--size-kb", "2")
    let cut = try #require(small.texts("text", of: "response").first)
    #expect(cut.contains("bytes left out ...]"))
    #expect(cut.utf8.count <= 2_048)
  }

  /// Checks that messages are replayed until an acknowledgement in either spelling arrives.
  ///
  /// A message is replayed if it was not acknowledged, or if its connection ended before it was
  /// sent.
  private static func replays(_ served: Served) async throws {
    let other = "44444444-4444-4444-8444-444444444444"
    let first = try await served.run(
      "--prompt", "kept", "--ack", "none", session: "ben", conversation: other)
    let cut = try await served.run(
      "--resume", "--prompt", "cut", "--ack", "none", "--leave", "ack", session: "ben",
      conversation: other)
    #expect(cut.types.last == "ack")
    let ids = first.texts("message_id", of: "response")
    for spelling in ["none", "underscore"] {
      let again = try await served.run(
        "--wait", "2", "--ack", spelling, session: "ben", conversation: other)
      let entries = again.all("replay").compactMap { $0["message"] as? [String: Any] }
      #expect(entries.compactMap { $0["text"] as? String } == ["kept", "cut"])
      #expect(entries.compactMap { $0["role"] as? String } == ["assistant", "assistant"])
      #expect(again.texts("message_id", of: "replay").first == ids.first)
    }
    let hyphen = try await served.run(
      "--prompt", "last", "--resume", "--ack", "none", session: "ben", conversation: other)
    #expect(hyphen.types == ["hello", "connected", "ack", "response"])
    _ = try await served.run("--wait", "1", "--ack", "hyphen", session: "ben", conversation: other)
    let rest = try await served.run("--subscribe", "6", session: "ben", conversation: other)
    #expect(rest.types == ["hello", "connected", "session_history"])
  }

  /// Checks that each version has its own cursor, and that the default version is 0.4.0.
  private static func readsHistories(_ served: Served) async throws {
    let other = "44444444-4444-4444-8444-444444444444"
    for version in ["0.5.0", "0.4.0", "none", "nonsense", "9.9.9"] {
      let client = try await served.run(
        "--subscribe", "2", "--version", version, session: "cleo", conversation: other)
      let agreed = version == "0.5.0" || version == "9.9.9" ? "0.5.0" : "0.4.0"
      #expect(client.texts("negotiated_protocol_version", of: "connected") == [agreed])
      let window = try #require(client.all("session_history").first)
      let entries = try #require(window["messages"] as? [[String: Any]])
      let member = agreed == "0.5.0" ? "offset" : "seq"
      let start = agreed == "0.5.0" ? 2 : 3
      #expect(entries.compactMap { $0[member] as? Int } == Array(start..<start + 4))
      #expect(
        entries.compactMap { $0["text"] as? String } == ["cut", "cut", "last", "last"])
      #expect(window[agreed == "0.5.0" ? "end_of_file" : "is_complete"] as? Bool == true)
    }
  }

  /// Checks that a wrong key and a version that is too old are refused.
  private static func isRefused(_ served: Served) async throws {
    let wrong = try await served.run(
      "--prompt", "one", key: "holdfast-ffffffffffffffffffffffffffffffff")
    #expect(wrong.types == ["hello", "auth_error"])
    #expect(wrong.code == 4401)
    let old = try await served.run("--prompt", "one", "--version", "0.3.9")
    #expect(old.types == ["hello", "error"])
    #expect(old.texts("code", of: "error") == ["unsupported_protocol_version"])
    #expect(old.texts("required", of: "error") == ["0.4.0"])
    #expect(old.texts("received", of: "error") == ["0.3.9"])
    #expect(old.code == 4426)
  }

  // MARK: Our client, their server

  @Test(arguments: ["0.4.0", "0.5.0"])
  func `our client speaks to websockets as server with compression`(version: String) async throws {
    try await Self.prompt(["--version", version], compressed: true)
  }

  @Test(arguments: ["0.4.0", "0.5.0"])
  func `our client speaks to websockets as server without compression`(
    version: String
  ) async throws {
    try await Self.prompt(["--version", version, "--plain"], compressed: false)
  }

  private static let mistakes = ["acks", "ids", "replay", "connected", "type"]

  /// Sends prompts to the original without mistakes, with each mistake, and with all mistakes.
  private static func prompt(_ arguments: [String], compressed: Bool) async throws {
    for made in [[]] + mistakes.map({ [$0] }) + [mistakes] {
      try await prompt(arguments, mistakes: made, compressed: compressed)
    }
  }

  private static func prompt(
    _ arguments: [String], mistakes: [String], compressed: Bool
  ) async throws {
    let scratch = try Scratch()
    let long = String(repeating: "a long text ", count: 10_000)
    let texts = ["one", "t\u{E9}xt \"two\"", "one", long]
    // The connection is cut after the acknowledgement of the second prompt.
    let trouble = mistakes.flatMap { ["--mistake", $0] } + ["--cut", "2"]
    try await OriginalServer.run(arguments + trouble) { server in
      let isForgetful = mistakes.contains("connected")
      let run = try run(server, scratch, isForgetful: isForgetful)
      for text in texts { run.process.send(text) }
      run.process.endInput()
      let (status, events) = try await run.end()
      // Unless the server replays the end of a turn, the client cannot know that the turn has
      // ended.
      let isUnsure = mistakes.contains("ids") || mistakes.contains("replay")
      #expect(status == (isUnsure ? 1 : 0), "\(mistakes)")
      #expect(events.states(of: texts[1]).last == (isUnsure ? "unsure" : "answered"))
      #expect(events.messages == texts.map { "assistant \($0)" }, "\(mistakes)")
      // The next run shows nothing again, and continues. The history of a plain server may repeat
      // the text of the latest answered prompt, under an id of its own.
      let next = try Self.run(server, scratch, isForgetful: isForgetful)
      next.prompt("more")
      let again = try await next.end().events
      // Without message ids, the history may repeat the answer, too.
      let repeated = ["user \(long)"] + (mistakes.contains("ids") ? ["assistant \(long)"] : [])
      let news = again.messages.filter { !repeated.contains($0) }
      #expect(news == ["assistant more"], "\(mistakes)")
      let seen = try await server.seen()
      #expect(
        seen.compactMap { $0["event"] as? String == "prompt" ? $0["text"] as? String : nil }
          == texts + ["more"], "\(mistakes)")
      let opened = seen.filter { $0["event"] as? String == "opened" }
      #expect(opened.allSatisfy { $0["compressed"] as? Bool == compressed })
      #expect(opened.count == 3 + (isForgetful ? 1 : 0), "\(mistakes)")
    }
  }

  /// Starts a client. If the server forgets an answer, the client gives up soon.
  private static func run(
    _ server: OriginalServer, _ scratch: Scratch, isForgetful: Bool
  ) throws -> SessionRun {
    let limits = ["--set", "establish.timeout=30s", "--set", "establish.openTimeout=20s"]
    return try SessionRun(
      port: Int(server.port), in: scratch, key: OriginalServer.key,
      ["--once", "--answer-timeout", "30s"] + (isForgetful ? limits : []))
  }
}
