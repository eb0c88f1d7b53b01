import LinkCore
import LinkWire
import Testing

@testable import Session

/// Tests of turns of several clients in one conversation of a server without keys, and of messages
/// that do not name their prompt.
@Suite struct PromptEvidenceTests {
  private static let asked = SessionEntry.one("u2", .user, "a", at: 1)
  private static let other = SessionEntry.one("u1", .user, "other", at: 0)

  /// Returns a harness whose prompt "a" was accepted while another client's prompt was in flight,
  /// or after that one had ended.
  private static func shared(otherHasEnded: Bool = false) -> SessionBench {
    var bench = SessionBench.talking([])
    bench.say(.window([.one("u0", .user, "first", at: 0)], next: 1))
    bench.say(.window([.one("u1", .user, "other", at: 1)], next: 2))
    if otherHasEnded { bench.respond("m1", to: nil, "re other") }
    bench.prompt("a")
    bench.ack(nil)
    bench.say(.window([.one("u2", .user, "a", at: 2)], next: 3))
    return bench
  }

  // MARK: Other clients

  @Test func `with another turn open, two turn ends are needed`() {
    var bench = Self.shared()
    bench.respond("m1", to: nil, "re other")
    #expect(bench.states.last == "a accepted")
    bench.respond("m1", to: nil, "re other")
    #expect(bench.states.last == "a accepted")
    bench.respond("m2", to: nil, "A")
    #expect(bench.states.last == "a answered")
  }

  @Test func `with another turn open, one turn end leaves the outcome unknown`() {
    var bench = Self.shared()
    bench.respond("m1", to: nil, "A")
    bench.pass(.seconds(30))
    #expect(bench.states.last == "a unsure")
    #expect(bench.acks.suffix(1) == ["m1"])
  }

  @Test func `ended turns do not affect the next prompt`() {
    var bench = Self.shared()
    bench.respond("m1", to: nil, "re other")
    bench.respond("m2", to: nil, "A")
    bench.prompt("b")
    bench.ack(nil)
    bench.say(.window([.one("u3", .user, "b", at: 3)], next: 4))
    bench.respond("m3", to: nil, "B")
    #expect(bench.states.last == "b answered")
  }

  @Test func `a turn end while no prompt is in flight belongs to another turn`() {
    var bench = Self.shared(otherHasEnded: true)
    bench.respond("m2", to: nil, "A")
    #expect(bench.states.last == "a answered")
  }

  @Test(arguments: [false, true])
  func `the late end of an abandoned prompt does not end the next one`(
    isRelaunched: Bool
  ) {
    var bench = SessionBench.acceptedByPlainServer()
    bench.pass(.seconds(300))
    #expect(bench.states.last == "a unsure")
    if isRelaunched {
      bench.relaunch()
      bench.connect([])
      bench.say(.window([], next: 0))
    }
    bench.prompt("b")
    bench.ack(nil)
    bench.respond("m1", to: nil, "A")
    #expect(bench.states.last == "b accepted")
    bench.respond("m2", to: nil, "B")
    #expect(bench.states.last == "b answered")
  }

  @Test func `after an answer and a failure, the prompt's outcome is unknown`() {
    var bench = Self.shared()
    bench.respond("m1", to: nil, "re other")
    bench.say(
      .response(
        SessionResponse(
          id: "m2", conversation: SessionBench.conversation, result: .failure(error: "no"))))
    #expect(bench.states.last == "a unsure")
  }

  @Test func `an answer before a prompt in the history belongs to another one`() {
    var bench = SessionBench.talking([])
    bench.say(.window([.one("u0", .user, "first", at: 0)], next: 1))
    bench.prompt("a")
    bench.ack(nil)
    let entries = [
      SessionEntry.one("u1", .user, "other", at: 1), .one("u2", .assistant, "re other", at: 2),
    ]
    for (place, entry) in entries.enumerated() {
      bench.say(.window([entry], next: UInt64(place) + 2))
    }
    bench.respond("u2", to: nil, "re other")
    #expect(bench.states.last == "a accepted")
    bench.say(.window([.one("u3", .user, "a", at: 3)], next: 4))
    bench.say(.window([.one("u4", .assistant, "A", at: 4)], next: 5))
    bench.respond("u4", to: nil, "A")
    #expect(bench.states.last == "a answered")
  }

  @Test(arguments: [false, true])
  func `the answer to another client's prompt does not end a waiting one`(isRelaunched: Bool) {
    var bench = SessionBench.lostByPlainServer()
    bench.say(.window([Self.other], next: 1))
    if isRelaunched {
      bench.relaunch()
      bench.connect([])
    }
    bench.say(.window([.one("u3", .assistant, "re other", at: 1)], next: 2))
    bench.respond("u3", to: nil, "re other")
    #expect(!bench.states.contains("a answered"))
    bench.say(.window([.one("u4", .user, "a", at: 2), .one("u5", at: 3)], next: 4))
    bench.respond("u5", to: nil, "text")
    #expect(bench.states.last == "a answered")
    #expect(Set(bench.messages.map { $0.prefix(2) }) == ["u1", "u3", "u5"])
  }

  @Test func `turns that ended before this client connected are over`() {
    var bench = SessionBench.connected([])
    bench.prompt("a")
    bench.ack(nil)
    let before = (0..<6 as Range<UInt64>).map { place in
      SessionEntry.one("x\(place)", place % 2 == 0 ? .user : .assistant, "x\(place)", at: place)
    }
    bench.say(.window(before + [.one("u2", .user, "a", at: 6)], next: 7))
    bench.respond("m1", to: nil, "A")
    #expect(bench.states.last == "a answered")
  }

  @Test func `an abandoned prompt may still end`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.prompt("b")
    bench.say(
      .response(SessionResponse(id: nil, conversation: nil, result: .failure(error: "no"))))
    #expect(bench.states.suffix(2) == ["a failed", "b sent"])
    bench.ack(nil)
    // The same failure again does not show which prompt failed.
    bench.say(
      .response(SessionResponse(id: nil, conversation: nil, result: .failure(error: "no"))))
    bench.pass(.seconds(30))
    #expect(bench.states.last == "b unsure")
    bench.prompt("c")
    bench.ack(nil)
    bench.respond("m1", to: nil, "B")
    #expect(bench.states.last == "c accepted")
    bench.respond("m2", to: nil, "C")
    #expect(bench.states.last == "c answered")
  }

  // MARK: Acks and refusals

  /// How a server responds to the maximum message size.
  enum Size: CaseIterable {
    case unknown, silent, late
  }

  @Test(arguments: Size.allCases)
  func `the ack of a prompt is not taken for the ack of the size`(size: Size) {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "")))
    bench.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    #expect(bench.sent == [.setMaxMessageSize(kilobytes: 200)])
    bench.prompt("a")
    switch size {
    case .unknown:
      bench.say(.error(SessionError(message: "Unknown message type: set_max_message_size")))
    case .silent: bench.pass(.seconds(10))
    case .late: bench.ack(nil)
    }
    #expect(bench.prompts.count == 1)
    bench.ack(nil)
    #expect(bench.states.last == (size == .silent ? "a sent" : "a accepted"))
    bench.lose()
    bench.connect([])
    bench.say(.window([], next: 0))
    #expect(bench.prompts.count == 1)
    bench.say(.window([.one("u1", .user, "a", at: 0), .one("u2", at: 1)], next: 2))
    bench.respond("u2", to: nil, "text")
    #expect(bench.states.last == "a answered")
  }

  @Test func `a waiting prompt goes before the size`() {
    var bench = SessionBench.opening()
    bench.prompt("a")
    bench.give(.opened(bench.attempt))
    bench.say(.hello(SessionHello(message: "")))
    bench.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    #expect(bench.sent.count == 1)
    bench.ack(nil)
    #expect(bench.states.last == "a accepted")
    #expect(bench.sent.dropFirst().first == .setMaxMessageSize(kilobytes: 200))
  }

  @Test func `an error without a conversation refuses the only message awaiting an ack`() {
    var bench = SessionBench.prompted([])
    bench.say(.error(SessionError(message: "no")))
    #expect(bench.states.last == "a failed")
    #expect(bench.reason == "no")
  }

  @Test func `an error that may concern something else makes an outcome unknown`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.prompt("b")
    // The error may answer the acknowledgement of the response.
    bench.say(.error(SessionError(message: "Error processing message")))
    #expect(bench.states.last == "b sent")
    bench.pass(.seconds(30))
    #expect(bench.states.last == "b unsure")
  }

  @Test func `an error before the ack of a prompt concerned something else`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.prompt("b")
    bench.say(.error(SessionError(message: "Error processing message")))
    bench.ack(nil)
    bench.pass(.seconds(299))
    #expect(bench.states.last == "b accepted")
    bench.respond("m2", to: nil, "B")
    #expect(bench.states.last == "b answered")
  }
}
