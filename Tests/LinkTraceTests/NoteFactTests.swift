import HoldfastHeldChecks
import HoldfastHeldSocket
import HoldfastLinkChecks
import Testing

@testable import HoldfastCore
@testable import HoldfastLinkTrace

/// Tests of the facts of notes about connections, and of waits that are explained.
@Suite struct NoteFactTests {
  private static let opening = ConnectionNote.Opening(
    resolve: .milliseconds(1), connect: .milliseconds(20), tls: .milliseconds(49),
    upgrade: .milliseconds(30))

  /// Returns a teller of a link whose first attempt began at 1 s.
  private static func teller() -> LinkTeller<HeldFeature> {
    let settings = SocketSettings(policy: .socket)
    var model = SocketModel(settings, seed: 1)
    var recorded: [(Observation<HeldFeature>, PhoneState<HeldFeature>)] = []
    var run = Recorded<HeldFeature>(model) { recorded.append(($0, $1)) }
    for (second, input) in [
      (0.0, SocketModel.Input.link(.device(.reachability(.reachable(path: PathID("wifi")))))),
      (1.0, .start),
    ] {
      let effects = model.handle(input, at: .second(second))
      run.see(input, at: .second(second), effects: effects, then: model)
    }
    var teller = LinkTeller<HeldFeature>(start: .zero, startedAt: Timestamp(nanoseconds: 0))
    for (seen, state) in recorded { teller.see(seen, state) }
    return teller
  }

  private static func line(_ fact: TraceFact?) -> String {
    fact.map { String(decoding: TraceWriter.line($0), as: UTF8.self) } ?? ""
  }

  @Test func `the phases of an attempt are one fact, which ends when it opened`() throws {
    var teller = Self.teller()
    let open = try #require(teller.facts.lastIndex { $0.event == .open })
    teller.see(.opening(Self.opening), of: AttemptID(1), at: .second(1.1), line: 7)
    #expect(
      Self.line(teller.facts.last)
        == #"{"t":1.1,"lane":"attempt","kind":"phases","say":"Connection 1 opened in 100 ms: "#
        + #"name 1 ms, connection 20 ms, TLS 49 ms, upgrade 30 ms.","by":\#(open),"line":7,"#
        + #""attempt":1,"from":1,"resolve":0.001,"connect":0.02,"tls":0.049,"upgrade":0.03}"#)
  }

  @Test func `an attempt that failed names its phase`() {
    var teller = Self.teller()
    let note = ConnectionNote.Opening(
      resolve: .zero, connect: .milliseconds(500), failed: .connect)
    teller.see(.opening(note), of: AttemptID(1), at: .second(1.5))
    let say = "Attempt 1 ended after 500 ms in the phase “connection”"
    #expect(teller.facts.last?.say == say + ": name less than 1 ms, connection 500 ms.")
    #expect(Self.line(teller.facts.last).hasSuffix(#""connect":0.5,"failed":"connect"}"#))
    teller.see(.opening(.init(failed: .resolve)), of: AttemptID(1), at: .second(1.5))
    #expect(teller.facts.last?.say == "Attempt 1 ended after less than 1 ms in the phase “name”.")
  }

  @Test func `phases that are longer than the attempt begin with it`() {
    var teller = Self.teller()
    teller.see(.opening(.init(tls: .seconds(20))), of: AttemptID(1), at: .second(2))
    guard case .phases(let from, _) = teller.facts.last?.event else {
      Issue.record("no phases")
      return
    }
    #expect(from == .seconds(1))
  }

  @Test func `bytes are those since the note before`() {
    var teller = Self.teller()
    teller.see(.traffic(received: 12_345, sent: 400), of: AttemptID(1), at: .second(11))
    #expect(
      Self.line(teller.facts.last)
        == #"{"t":11,"lane":"traffic","kind":"bytes","say":"Connection 1 received 12.3 kB and "#
        + #"sent 400 bytes in 10 s.","attempt":1,"from":1,"received":12345,"sent":400}"#)
    let count = teller.facts.count
    teller.see(.traffic(received: 12_345, sent: 400), of: AttemptID(1), at: .second(12))
    #expect(teller.facts.count == count)
    teller.see(.traffic(received: 12_346, sent: 2_000_400), of: AttemptID(1), at: .second(16))
    #expect(
      teller.facts.last?.say == "Connection 1 received 1 byte and sent 2 MB in 4 s.")
    // Numbers that fall are damage, and never trap.
    teller.see(.traffic(received: 0, sent: .max), of: AttemptID(1), at: .second(17))
    #expect(teller.facts.count == count + 2)
  }

  @Test func `notes are in order of time, and none stands before the trace`() {
    var empty = LinkTeller<HeldFeature>(start: .second(5), startedAt: Timestamp(nanoseconds: 0))
    empty.see(.opening(Self.opening), of: AttemptID(1), at: .second(6))
    #expect(empty.facts.isEmpty)
    var teller = Self.teller()
    teller.see(.opening(Self.opening), of: AttemptID(9), at: .second(0.5))
    #expect(teller.facts.last?.at == .seconds(1))
  }

  @Test func `random notes never trap`() {
    var generator = RandomSource(seed: 3)
    var teller = Self.teller()
    for _ in 0..<2_000 {
      let values = (0..<6).map { _ in generator.next() >> (generator.next() % 64) }
      let at = Instant(nanoseconds: Int64(truncatingIfNeeded: values[0]))
      let attempt = AttemptID(values[1])
      if values[2] % 2 == 0 {
        teller.see(.traffic(received: values[3], sent: values[4]), of: attempt, at: at)
      } else {
        let length = Duration.nanoseconds(Int64(values[3] >> 9))
        let phase = LinkFailure.Phase.allCases[Int(values[5] % 9)]
        teller.see(.opening(.init(tls: length, failed: phase)), of: attempt, at: at)
      }
    }
    #expect(zip(teller.facts, teller.facts.dropFirst()).allSatisfy { $0.at <= $1.at })
  }

  private static func words(_ wait: RetryWait) -> String {
    var state = PhoneState<HeldFeature>(
      policy: .socket, status: LinkStatus(phase: .reconnecting, retryAt: wait.until),
      own: HeldFeature.state(of: SocketModel(SocketSettings(policy: .socket), seed: 1)))
    state.wait = wait
    return WaitWords.explain(state.status, .zero + (wait.until - .zero), state)
  }

  private static func wait(
    base: Duration? = .seconds(4), drawn: Duration = .seconds(4), spread: Duration = .zero,
    window: Duration? = nil, _ rule: RetryWait.Rule = .schedule
  ) -> RetryWait {
    RetryWait(
      until: .second(9), base: base, drawn: drawn, spread: spread, window: window, rule: rule)
  }

  @Test(arguments: [
    (wait(), ""), (wait(base: nil, drawn: .zero), ""),
    (wait(drawn: .milliseconds(3_200)), " (base 4 s, jitter −20 %)"),
    (wait(drawn: .seconds(5)), " (base 4 s, jitter +25 %)"),
    (
      wait(base: .zero, drawn: .zero, spread: .milliseconds(1_300), window: .seconds(5)),
      " (base 0 s, plus 1.3 s of a spread of 5 s)"
    ),
    (wait(.retryAfter), " (base 4 s, the server asked for a pause)"),
    (
      wait(base: nil, .window(AttemptWindow(attempts: 10, per: .seconds(60)))),
      " (at most 10 attempts in 1 min)"
    ),
    (
      wait(.breaker(Breaker(failures: 5, within: .seconds(9), pause: .seconds(30)))),
      " (base 4 s, a pause of 30 s after 5 failures)"
    ),
  ])
  func `a wait is explained by its parts`(wait: RetryWait, text: String) {
    #expect(Self.words(wait) == text)
  }
}
