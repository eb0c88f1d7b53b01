import Foundation
import HoldfastCore
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the program given to `--session-handler`, over real sockets.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SessionHandlerTests {
  /// Sends one prompt to a handler, and returns the result that the sender receives.
  private static func answer(
    of handler: String, to text: String = "hello",
    _ configure: (inout BackendConfiguration) -> Void = { _ in }
  ) async throws -> SessionResponse.Result {
    var result: SessionResponse.Result?
    try await BackendRig.session(
      {
        $0.sessionHandler = handler
        configure(&$0)
      }
    ) { rig in
      let client = try rig.session()
      try client.prompt(text, key: "k1")
      result = try client.response().result
    }
    return try #require(result)
  }

  @Test
  func `the handler reads the prompt, and its output without the last newline is the response`()
    async throws
  {
    #expect(
      try await Self.answer(of: "tr a-z A-Z; echo; echo", to: "one\ntwo")
        == .success(text: "ONE\nTWO\n"))
  }

  @Test func `the handler receives the prompt's properties in its environment`() async throws {
    let handler = #"""
      cat > /dev/null
      printf '%s|' "$HOLDFAST_CONVERSATION" "$HOLDFAST_CONVERSATION_IS_NEW" "$HOLDFAST_KEY" \
        "$HOLDFAST_PROVIDER" "$HOLDFAST_WORKING_DIRECTORY" "$HOLDFAST_SYSTEM_PROMPT"
      """#
    #expect(
      try await Self.answer(of: handler)
        == .success(text: "\(SessionClient.conversation)|1|k1||||"))
  }

  @Test func `the handler receives a system prompt of the maximum length`() async throws {
    let most = SessionServerPolicy().maxSystemPromptBytes
    let handler = #"cat > /dev/null; printf %s "$HOLDFAST_SYSTEM_PROMPT" | wc -c"#
    try await BackendRig.session({ $0.sessionHandler = handler }) { rig in
      let client = try rig.session()
      var prompt = SessionPrompt(
        text: "a", conversation: SessionClient.conversation, isNew: true, idempotencyKey: "k1")
      prompt.systemPrompt = String(repeating: "s", count: most)
      try client.say(.prompt(prompt))
      #expect(try client.response().result == .success(text: "\(most)"))
      prompt.systemPrompt?.append("s")
      prompt.idempotencyKey = "k2"
      try client.say(.prompt(prompt))
      let code = try client.next { if case .error(let error) = $0 { error.code } else { nil } }
      #expect(code == "too_long")
    }
  }

  @Test func `the handler's output is streamed in parts and sent whole at its end`() async throws {
    let scratch = try Scratch()
    let pipe = try NamedPipe(scratch("go"))
    let handler = "cat > /dev/null; echo one; read -r go < \(pipe.path); echo two"
    try await BackendRig.session({ $0.sessionHandler = handler }) { rig in
      let client = try rig.session(features: [.parts])
      try client.prompt("hello", key: "k1")
      let part = { (index: Int, text: String) in
        SessionServerMessage.responsePart(
          conversation: SessionClient.conversation, idempotencyKey: "k1", index: index, text: text)
      }
      #expect(try client.message() == .ack(message: "Prompt received", idempotencyKey: "k1"))
      #expect(try client.message() == part(0, "one"))
      // The program continues only after the test has read the first part.
      try pipe.opened().close()
      #expect(try client.message() == part(1, "\ntwo"))
      #expect(try client.response().result == .success(text: "one\ntwo"))
    }
  }

  @Test func `kill_session ends the handler and its child processes`() async throws {
    let scratch = try Scratch()
    let pipe = try NamedPipe(scratch("held"))
    let reader = try pipe.reader()
    defer { close(reader) }
    let handler = "exec 3> \(pipe.path); sleep 1000 & echo ready; wait"
    try await BackendRig.session({ $0.sessionHandler = handler }) { rig in
      let client = try rig.session(features: [.parts])
      try client.prompt("hello", key: "k1")
      try client.next { if case .responsePart = $0 { () } else { nil } }
      try client.say(.killSession(conversation: SessionClient.conversation))
      #expect(try client.response().result == .failure(error: "cancelled"))
      #expect(
        try client.message()
          == .turnComplete(conversation: SessionClient.conversation, isAborted: true))
      #expect(try client.message() == .sessionKilled(conversation: SessionClient.conversation))
      #expect(NamedPipe.isLeft(reader))
    }
  }

  @Test func `a stopping backend ends the handler and reports the interruption after its restart`()
    async throws
  {
    let scratch = try Scratch()
    let key = try BackendRig.writeKey(in: scratch)
    let pipe = try NamedPipe(scratch("held"))
    let reader = try pipe.reader()
    defer { close(reader) }
    let handler = "exec 3> \(pipe.path); sleep 1000 & echo ready; wait"
    let configure = { (configuration: inout BackendConfiguration) in
      configuration.sessionKeyFile = key
      configuration.sessionHandler = handler
    }
    try await BackendRig.run(in: scratch("data"), configure) { rig in
      let client = try rig.session(features: [.parts])
      try client.prompt("hello", key: "k1")
      try client.next { if case .responsePart = $0 { () } else { nil } }
      await rig.backend.drainAndStop()
      #expect(NamedPipe.isLeft(reader))
    }
    try await BackendRig.run(in: scratch("data"), configure) { rig in
      let result = try rig.session().response().result
      #expect(result == .failure(error: "interrupted"))
    }
  }

  @Test(arguments: [(.milliseconds(200), "200ms"), (Duration.seconds(1), "1s")])
  func `the handler is ended when its time limit expires`(limit: Duration, text: String)
    async throws
  {
    let scratch = try Scratch()
    let pipe = try NamedPipe(scratch("held"))
    let reader = try pipe.reader()
    defer { close(reader) }
    let result = try await Self.answer(of: "exec 3> \(pipe.path); sleep 1000") {
      $0.session.turnLimit = limit
    }
    #expect(result == .failure(error: "no answer within \(text)"))
    // The handler may have been ended before it opened the pipe.
    try pipe.opened().close()
    #expect(NamedPipe.isLeft(reader))
  }

  @Test(arguments: [999, 1_000, 1_001])
  func `the handler's output is limited`(size: Int) async throws {
    let result = try await Self.answer(of: "head -c \(size) /dev/zero | tr '\\0' x") {
      $0.session.maxResponseBytes = 1_000
    }
    #expect(
      result
        == (size <= 1_000
          ? .success(text: String(repeating: "x", count: size))
          : .failure(error: "the response is longer than 1000 bytes")))
  }

  @Test func `endless output fails the prompt and ends the handler`() async throws {
    let result = try await Self.answer(of: "yes")
    #expect(result == .failure(error: "the response is longer than 1048576 bytes"))
  }

  @Test(arguments: [
    ("echo out; echo trouble >&2; exit 3", "the handler exited with status 3: trouble"),
    ("exit 1", "the handler exited with status 1"),
    ("echo out; kill -9 $$", "the handler was ended by signal 9"),
  ])
  func `a failure of the handler fails the prompt`(handler: String, error: String) async throws {
    #expect(try await Self.answer(of: handler) == .failure(error: error))
  }

  @Test func `a missing program fails the prompt, and the error names the program`() async throws {
    let result = try await Self.answer(of: "/nonexistent/program")
    guard case .failure(let error) = result else { return #expect(Bool(false), "\(result)") }
    #expect(error.hasPrefix("the handler exited with status 127: "))
    #expect(error.contains("/nonexistent/program: not found"))
  }

  @Test func `a handler that does not read its input can still answer`() async throws {
    let text = String(repeating: "x", count: 500_000)
    #expect(try await Self.answer(of: "echo short", to: text) == .success(text: "short"))
  }

  @Test func `a prompt and a response of 500,000 bytes are passed unchanged`() async throws {
    let text = String(repeating: "0123456789", count: 50_000)
    try await BackendRig.session({ $0.sessionHandler = "cat" }) { rig in
      let client = try rig.session()
      try client.say(.setMaxMessageSize(kilobytes: 1_024))
      try client.prompt(text, key: "k1")
      #expect(try client.response().result == .success(text: text))
    }
  }

  @Test func `characters split across reads are joined, and invalid UTF-8 is replaced`() {
    var text = GatheredText()
    var pieces: [String] = []
    for byte in Array("a\u{E9}\u{20AC}\u{1F600}".utf8) { pieces.append(text.take([byte])) }
    #expect(
      pieces == ["a", "", "\u{E9}", "", "", "\u{20AC}", "", "", "", "\u{1F600}"])
    #expect(text.take([0xC3, 0x28, 0xE2, 0x82]) == "\u{FFFD}(")
    #expect(text.end() == "a\u{E9}\u{20AC}\u{1F600}\u{FFFD}(\u{FFFD}")
  }
}
