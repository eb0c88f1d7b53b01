import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of turns of several clients in one conversation of a server without keys, and of messages
/// that do not name their prompt.
@Suite struct PromptEvidenceTests {
  private static let asked = SessionEntry.one("u2", .user, "a", at: 1)
  private static let other = SessionEntry.one("u1", .user, "other", at: 0)

  /// Returns a harness whose prompt "a" was accepted while another client's prompt was in flight,
  /// or after that prompt had ended.
  private static func shared(otherHasEnded: Bool = false) -> SessionHarness {
    var harness = SessionHarness.talking([])
    harness.say(.window([.one("u0", .user, "first", at: 0)], next: 1))
    harness.say(.window([.one("u1", .user, "other", at: 1)], next: 2))
    if otherHasEnded { harness.respond("m1", to: nil, "re other") }
    harness.prompt("a")
    harness.ack(nil)
    harness.say(.window([.one("u2", .user, "a", at: 2)], next: 3))
    return harness
  }

  // MARK: Other clients

  @Test func `with another turn open, two turn ends are needed`() {
    var harness = Self.shared()
    harness.respond("m1", to: nil, "re other")
    #expect(harness.states.last == "a accepted")
    harness.respond("m1", to: nil, "re other")
    #expect(harness.states.last == "a accepted")
    harness.respond("m2", to: nil, "A")
    #expect(harness.states.last == "a answered")
  }

  @Test func `with another turn open, one turn end leaves the outcome unknown`() {
    var harness = Self.shared()
    harness.respond("m1", to: nil, "A")
    harness.pass(.seconds(30))
    #expect(harness.states.last == "a unsure")
    #expect(harness.acks.suffix(1) == ["m1"])
  }

  @Test func `ended turns do not affect the next prompt`() {
    var harness = Self.shared()
    harness.respond("m1", to: nil, "re other")
    harness.respond("m2", to: nil, "A")
    harness.prompt("b")
    harness.ack(nil)
    harness.say(.window([.one("u3", .user, "b", at: 3)], next: 4))
    harness.respond("m3", to: nil, "B")
    #expect(harness.states.last == "b answered")
  }

  @Test func `a turn end while no prompt is in flight belongs to another turn`() {
    var harness = Self.shared(otherHasEnded: true)
    harness.respond("m2", to: nil, "A")
    #expect(harness.states.last == "a answered")
  }

  @Test(arguments: [false, true])
  func `the late end of an abandoned prompt does not end the next one`(
    isRelaunched: Bool
  ) {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.pass(.seconds(300))
    #expect(harness.states.last == "a unsure")
    if isRelaunched {
      harness.relaunch()
      harness.connect([])
      harness.say(.window([], next: 0))
    }
    harness.prompt("b")
    harness.ack(nil)
    harness.respond("m1", to: nil, "A")
    #expect(harness.states.last == "b accepted")
    harness.respond("m2", to: nil, "B")
    #expect(harness.states.last == "b answered")
  }

  @Test func `after an answer and a failure, the prompt's outcome is unknown`() {
    var harness = Self.shared()
    harness.respond("m1", to: nil, "re other")
    harness.say(
      .response(
        SessionResponse(
          id: "m2", conversation: SessionHarness.conversation, result: .failure(error: "no"))))
    #expect(harness.states.last == "a unsure")
  }

  @Test func `an answer before a prompt in the history belongs to another one`() {
    var harness = SessionHarness.talking([])
    harness.say(.window([.one("u0", .user, "first", at: 0)], next: 1))
    harness.prompt("a")
    harness.ack(nil)
    let entries = [
      SessionEntry.one("u1", .user, "other", at: 1), .one("u2", .assistant, "re other", at: 2),
    ]
    for (index, entry) in entries.enumerated() {
      harness.say(.window([entry], next: UInt64(index) + 2))
    }
    harness.respond("u2", to: nil, "re other")
    #expect(harness.states.last == "a accepted")
    harness.say(.window([.one("u3", .user, "a", at: 3)], next: 4))
    harness.say(.window([.one("u4", .assistant, "A", at: 4)], next: 5))
    harness.respond("u4", to: nil, "A")
    #expect(harness.states.last == "a answered")
  }

  @Test(arguments: [false, true])
  func `the answer to another client's prompt does not end a waiting one`(isRelaunched: Bool) {
    var harness = SessionHarness.lostByPlainServer()
    harness.say(.window([Self.other], next: 1))
    if isRelaunched {
      harness.relaunch()
      harness.connect([])
    }
    harness.say(.window([.one("u3", .assistant, "re other", at: 1)], next: 2))
    harness.respond("u3", to: nil, "re other")
    #expect(!harness.states.contains("a answered"))
    harness.say(.window([.one("u4", .user, "a", at: 2), .one("u5", at: 3)], next: 4))
    harness.respond("u5", to: nil, "text")
    #expect(harness.states.last == "a answered")
    #expect(Set(harness.messages.map { $0.prefix(2) }) == ["u1", "u3", "u5"])
  }

  @Test func `turns that ended before this client connected are over`() {
    var harness = SessionHarness.connected([])
    harness.prompt("a")
    harness.ack(nil)
    let before = (0..<6 as Range<UInt64>).map { position in
      SessionEntry.one(
        "x\(position)", position % 2 == 0 ? .user : .assistant, "x\(position)", at: position)
    }
    harness.say(.window(before + [.one("u2", .user, "a", at: 6)], next: 7))
    harness.respond("m1", to: nil, "A")
    #expect(harness.states.last == "a answered")
  }

  @Test func `an abandoned prompt may still end`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.prompt("b")
    harness.say(
      .response(SessionResponse(id: nil, conversation: nil, result: .failure(error: "no"))))
    #expect(harness.states.suffix(2) == ["a failed", "b sent"])
    harness.ack(nil)
    // A repeated failure does not show which prompt failed.
    harness.say(
      .response(SessionResponse(id: nil, conversation: nil, result: .failure(error: "no"))))
    harness.pass(.seconds(30))
    #expect(harness.states.last == "b unsure")
    harness.prompt("c")
    harness.ack(nil)
    harness.respond("m1", to: nil, "B")
    #expect(harness.states.last == "c accepted")
    harness.respond("m2", to: nil, "C")
    #expect(harness.states.last == "c answered")
  }

  // MARK: Acks and refusals

  /// The response of a server to the maximum message size.
  enum Size: CaseIterable {
    case unknown, silent, late
  }

  @Test(arguments: Size.allCases)
  func `the ack of a prompt is not taken for the ack of the size`(size: Size) {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "")))
    harness.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    #expect(harness.sent == [.setMaxMessageSize(kilobytes: 200)])
    harness.prompt("a")
    switch size {
    case .unknown:
      harness.say(.error(SessionError(message: "Unknown message type: set_max_message_size")))
    case .silent: harness.pass(.seconds(10))
    case .late: harness.ack(nil)
    }
    #expect(harness.prompts.count == 1)
    harness.ack(nil)
    #expect(harness.states.last == (size == .silent ? "a sent" : "a accepted"))
    harness.lose()
    harness.connect([])
    harness.say(.window([], next: 0))
    #expect(harness.prompts.count == 1)
    harness.say(.window([.one("u1", .user, "a", at: 0), .one("u2", at: 1)], next: 2))
    harness.respond("u2", to: nil, "text")
    #expect(harness.states.last == "a answered")
  }

  @Test func `a waiting prompt goes before the size`() {
    var harness = SessionHarness.opening()
    harness.prompt("a")
    harness.give(.opened(harness.attempt))
    harness.say(.hello(SessionHello(message: "")))
    harness.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    #expect(harness.sent.count == 1)
    harness.ack(nil)
    #expect(harness.states.last == "a accepted")
    #expect(harness.sent.dropFirst().first == .setMaxMessageSize(kilobytes: 200))
  }

  @Test func `an error without a conversation refuses the only message awaiting an ack`() {
    var harness = SessionHarness.prompted([])
    harness.say(.error(SessionError(message: "no")))
    #expect(harness.states.last == "a failed")
    #expect(harness.reason == "no")
  }

  @Test func `an error that may concern something else makes an outcome unknown`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("m1", to: nil, "A")
    harness.prompt("b")
    // The error may be a reply to the acknowledgement of the response.
    harness.say(.error(SessionError(message: "Error processing message")))
    #expect(harness.states.last == "b sent")
    harness.pass(.seconds(30))
    #expect(harness.states.last == "b unsure")
  }

  @Test func `an error before the ack of a prompt concerned something else`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("m1", to: nil, "A")
    harness.prompt("b")
    harness.say(.error(SessionError(message: "Error processing message")))
    harness.ack(nil)
    harness.pass(.seconds(299))
    #expect(harness.states.last == "b accepted")
    harness.respond("m2", to: nil, "B")
    #expect(harness.states.last == "b answered")
  }
}
