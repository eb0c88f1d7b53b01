import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct HealingTests {
  private var script = Script(Healing<StreamFeature>())
  private let limit = 900 * 1.1 + 60 + 90

  private mutating func findings(wholeAfter seconds: Double) -> [Finding] {
    script.facts.own.isWhole = false
    script.see(.calm, at: 100)
    script.facts.own.isWhole = true
    script.tick(at: 100 + seconds)
    return script.end(at: 100 + seconds)
  }

  @Test(arguments: [(-1.0, false), (0, false), (1, true)])
  mutating func `all is whole within the limit of calm`(more: Double, isFound: Bool) {
    let detail = "not whole within 1140 s of calm: connected, 0 to send"
    let finding = Finding(.unhealed, at: .second(100 + limit + more), detail)
    #expect(findings(wholeAfter: limit + more) == (isFound ? [finding] : []))
  }

  @Test mutating func `what waits to be sent is not whole`() {
    script.store(TimelineChange(outboxPut: [.number(1)]))
    let detail = "not whole within 1140 s of calm: connected, 1 to send"
    #expect(findings(wholeAfter: 1) == [Finding(.unhealed, at: .second(101), detail)])
  }

  private static let busy = LinkFailure.http(status: 503, retryAfter: .seconds(300), detail: "")

  @Test(arguments: [(-1.0, false), (0, false), (1, true)])
  mutating func `the time for which a server wants to be left alone comes before the limit`(
    more: Double, isFound: Bool
  ) {
    script.tell(.lost(AttemptID(1), Self.busy), at: 0)
    let detail = "not whole within 1340 s of calm: connected, 0 to send"
    let finding = Finding(.unhealed, at: .second(300 + limit + more), detail)
    #expect(findings(wholeAfter: 200 + limit + more) == (isFound ? [finding] : []))
  }

  @Test(arguments: [(UInt64(1), false), (2, true)])
  mutating func `a refusal after calm counts if the try began before it`(
    attempt: UInt64, isFound: Bool
  ) {
    script.facts.own.isWhole = false
    script.tick(at: 99, [.open(AttemptID(1), after: nil)])
    script.see(.calm, at: 100)
    script.tick(at: 101, [.open(AttemptID(2), after: nil)])
    script.tell(.lost(AttemptID(attempt), Self.busy), at: 101)
    script.facts.own.isWhole = true
    script.tick(at: 101 + limit)
    #expect(script.end(at: 101 + limit).isEmpty == !isFound)
  }

  @Test mutating func `a wish ends with the process`() {
    script.tell(.lost(AttemptID(1), Self.busy), at: 0)
    script.see(.launched(.phone, run: 2), at: 1)
    #expect(findings(wholeAfter: limit + 1).count == 1)
  }

  @Test mutating func `a stream that was left waits for nothing`() {
    script.facts.deadline = nil
    script.tell(.close, at: 1)
    #expect(script.end(at: 2) == [])
    script.facts.deadline = .second(5)
    let detail = "was left, and still waits for 5000000000 ns"
    #expect(script.end(at: 3) == [Finding(.storm, at: .second(3), detail)])
  }
}

struct BenchTests {
  @Test func `a story that goes well satisfies all`() {
    var script = Script(WholeBench())
    script.facts.status.phase = .connecting
    script.accept([.number(1)])
    script.see(.launched(.phone, run: 1))
    script.facts.status.phase = .connected
    script.see(.upgraded(.phone, AttemptID(1), status: 101))
    script.store(TimelineChange(messages: [.number(1)]))
    script.show([.number(1)])
    script.see(.calm, at: 1)
    #expect(script.end(at: 2) == [])
  }

  /// One step in which as many promises are broken as one step can break.
  @Test func `each judge is on the bench`() {
    var script = Script(WholeBench())
    script.see(.launched(.phone, run: 1))
    script.facts.secrets = ["abc.def"]
    script.facts.own.backlog.shown = 1001
    script.tell(
      .lost(AttemptID(9), .reset), isLate: true, at: 1,
      [
        .refreshCredentials, .refreshCredentials, .update(.messages([.number(1)], via: .live)),
        .update(.notice(.unknownType("abc.def"))), .update(.notice(.signIn)),
      ])
    script.accept([.number(2)], at: 2)
    script.facts.own.isWhole = false
    script.see(.calm, at: 2)
    script.facts.deadline = .second(3)
    script.tick(at: 4)
    let kinds = script.end(at: 5).map(\.kind)
    // The kernel finds the last three: no checker does.
    let others: Set<Finding.Kind> = [.reordered, .outlived, .brokenInvariant, .endless]
    #expect(Set(kinds) == Set(StreamFeature.kinds).subtracting(others))
  }

  @Test func `keeps 20 findings, by time`() {
    var script = Script(Ledger())
    for number in 1...25 { script.show([.number(number)], at: Double(number)) }
    #expect(script.findings.count == 20)
    #expect(script.findings.map(\.at) == (1...20).map { .second(Double($0)) })
  }
}
