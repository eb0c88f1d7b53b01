import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

/// Tests of the order of sending, and of pauses between attempts.
@Suite struct UrgencyTests {
  @Test func `sends acknowledgements before a prompt of the same moment`() throws {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("z", in: "e")
    bench.prompt("a")
    bench.say(.replay(id: "m1", .one("m1", at: nil), number: nil))
    bench.commit()
    bench.ack(bench.key("z"))
    let before = bench.sent.count
    bench.commit()
    let sent = Array(bench.sent[before...])
    #expect(sent.first == .messageAck("m1"))
    guard case .prompt(let prompt)? = sent.dropFirst().first else {
      return #expect(Bool(false), "a prompt follows: \(sent)")
    }
    #expect(prompt.text == "a")
  }

  @Test func `sends acknowledgements before a prompt marked in the same commit`() {
    var bench = SessionBench.connected([])
    bench.holdsStore = true
    bench.prompt("a")
    bench.say(.replay(id: "m1", .one("m1", .user, at: nil), number: nil))
    bench.commit()
    let before = bench.sent.count
    bench.commit()
    let sent = Array(bench.sent[before...])
    #expect(sent.first == .messageAck("m1"))
    #expect(bench.prompts.map(\.text) == ["a"])
    #expect(sent.count == 2, "\(sent)")
  }

  @Test func `acknowledgements and pings do not wait behind a large prompt, but other prompts do`()
  {
    var bench = SessionBench.connected()
    bench.prompt(String(repeating: "x", count: 10 * 16_384))
    bench.prompt("b", in: "d")
    bench.say(.replay(id: "m1", .one("m1", at: nil), number: nil))
    #expect(bench.acks == ["m1"])
    #expect(bench.prompts.count == 1)
    bench.pass(.milliseconds(19_999))
    #expect(bench.prompts.count == 1)
    bench.pass(.milliseconds(1))
    #expect(bench.prompts.map(\.text).last == "b")
    bench.pass(.seconds(30))
    #expect(bench.sent.contains(.ping))
  }

  @Test func `a user who keeps retrying meets a pause of 60 s after 42 failures`() {
    var bench = SessionBench.opening()
    var failedAt: [Instant] = []
    var waits: [Duration] = []
    while failedAt.count < 42 {
      failedAt.append(bench.now)
      bench.give(.link(.lost(bench.attempt, .refused), at: bench.wall))
      let start = bench.now
      while bench.model.link.currentAttempt == nil {
        bench.give(.start)
        if bench.model.link.currentAttempt == nil { bench.pass(.seconds(1)) }
      }
      waits.append(start.duration(to: bench.now))
    }
    #expect(failedAt.last.map { Instant.zero.duration(to: $0) < .seconds(600) } == true)
    // The window allows 10 attempts a minute; nothing else delays the attempt after the 41st.
    #expect(waits[40] < .seconds(60))
    #expect(waits[41] >= .seconds(60))
  }

  @Test func `shows messages in the server's order, whatever its clock shows`() {
    var bench = SessionBench.talking()
    let entries = [30, 10, 20].enumerated().map { place, second in
      SessionEntry(
        id: "x\(place)", role: .assistant, text: "t", conversation: SessionBench.conversation,
        timestamp: Timestamp(nanoseconds: Int64(second) * 1_000_000_000), place: UInt64(place))
    }
    bench.say(.window(entries, next: 3))
    #expect(bench.messages.suffix(3).map { $0.prefix(2) } == ["x0", "x1", "x2"])
    let kept = bench.store.history(of: SessionBench.conversation, before: nil, limit: 3)
    #expect(
      kept.compactMap { one -> String? in
        if case .message(let entry, _) = one.news { entry.id } else { nil }
      } == ["x0", "x1", "x2"])
  }
}
