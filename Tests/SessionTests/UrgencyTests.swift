import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the order in which messages are sent, and of the pauses between attempts.
@Suite struct UrgencyTests {
  @Test func `sends acknowledgements before a prompt of the same moment`() throws {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("z", in: "e")
    harness.prompt("a")
    harness.say(.replay(id: "m1", .one("m1", at: nil), number: nil))
    harness.commit()
    harness.ack(harness.key("z"))
    let before = harness.sent.count
    harness.commit()
    let sent = Array(harness.sent[before...])
    #expect(sent.first == .messageAck("m1"))
    guard case .prompt(let prompt)? = sent.dropFirst().first else {
      return #expect(Bool(false), "a prompt follows: \(sent)")
    }
    #expect(prompt.text == "a")
  }

  @Test func `sends acknowledgements before a prompt marked in the same commit`() {
    var harness = SessionHarness.connected([])
    harness.holdsStore = true
    harness.prompt("a")
    harness.say(.replay(id: "m1", .one("m1", .user, at: nil), number: nil))
    harness.commit()
    let before = harness.sent.count
    harness.commit()
    let sent = Array(harness.sent[before...])
    #expect(sent.first == .messageAck("m1"))
    #expect(harness.prompts.map(\.text) == ["a"])
    #expect(sent.count == 2, "\(sent)")
  }

  @Test func `acknowledgements and pings do not wait behind a large prompt, but other prompts do`()
  {
    var harness = SessionHarness.connected()
    harness.prompt(String(repeating: "x", count: 10 * 16_384))
    harness.prompt("b", in: "d")
    harness.say(.replay(id: "m1", .one("m1", at: nil), number: nil))
    #expect(harness.acks == ["m1"])
    #expect(harness.prompts.count == 1)
    harness.pass(.milliseconds(19_999))
    #expect(harness.prompts.count == 1)
    harness.pass(.milliseconds(1))
    #expect(harness.prompts.map(\.text).last == "b")
    harness.pass(.seconds(30))
    #expect(harness.sent.contains(.ping))
  }

  @Test func `a user who keeps retrying meets a pause of 60 s after 42 failures`() {
    var harness = SessionHarness.opening()
    var failedAt: [Instant] = []
    var waits: [Duration] = []
    while failedAt.count < 42 {
      failedAt.append(harness.now)
      harness.give(.link(.lost(harness.attempt, .refused), at: harness.wall))
      let start = harness.now
      while harness.model.link.currentAttempt == nil {
        harness.give(.start)
        if harness.model.link.currentAttempt == nil { harness.pass(.seconds(1)) }
      }
      waits.append(start.duration(to: harness.now))
    }
    #expect(failedAt.last.map { Instant.zero.duration(to: $0) < .seconds(600) } == true)
    // The window allows 10 attempts per minute. Nothing else delays the attempt after the 41st.
    #expect(waits[40] < .seconds(60))
    #expect(waits[41] >= .seconds(60))
  }

  @Test func `shows messages in the server's order, whatever its clock shows`() {
    var harness = SessionHarness.talking()
    let entries = [30, 10, 20].enumerated().map { index, second in
      SessionEntry(
        id: "x\(index)", role: .assistant, text: "t", conversation: SessionHarness.conversation,
        timestamp: Timestamp(nanoseconds: Int64(second) * 1_000_000_000), position: UInt64(index))
    }
    harness.say(.window(entries, next: 3))
    #expect(harness.messages.suffix(3).map { $0.prefix(2) } == ["x0", "x1", "x2"])
    let stored = harness.store.history(of: SessionHarness.conversation, before: nil, limit: 3)
    #expect(
      stored.compactMap { one -> String? in
        if case .message(let entry, _) = one.news { entry.id } else { nil }
      } == ["x0", "x1", "x2"])
  }
}
