import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerParts
import Testing

/// Tests of what waits for the operator's backend, in which order, and for how long.
struct HookGateTests {
  @Test func `a question is sent at once and decided by its answer`() {
    var gate = GateRun()
    #expect(gate.ask(1) == [1])
    #expect(gate.decisions == [])
    gate.end(1, .answered(status: 200, body: []))
    #expect(gate.decisions == [.init(1, .allowed(nil))])
    #expect(gate.gate.deadline == nil)
  }

  @Test func `posts of one author are asked about in turn, and those of others meanwhile`() {
    var gate = GateRun()
    #expect(gate.post(1) == [1])
    #expect(gate.post(2) == [])
    #expect(gate.post(3, of: "bob") == [3])
    #expect(gate.post(4, in: "cellar") == [4])
    gate.end(3)
    gate.end(1)
    #expect(gate.sent == [1, 3, 4, 2])
    gate.end(2)
    #expect(gate.decisions.map(\.ticket.number) == [3, 1, 2])
  }

  @Test func `another attempt to send a post gets the decision about the first one, with its ID`() {
    var gate = GateRun()
    gate.post(1, key: 7)
    gate.post(2, key: 8)
    gate.post(3, key: 7)
    gate.post(4, key: 7, text: "other")
    gate.end(1)
    #expect(
      gate.decisions == [.init(1, .allowed(GateRun.id(1))), .init(3, .allowed(GateRun.id(1)))])
    #expect(gate.sent == [1, 2])
    gate.end(2, .answered(status: 403, body: Array(#"{"reason":"no"}"#.utf8)))
    gate.end(4)
    #expect(
      gate.decisions.dropFirst(2) == [
        .init(2, .denied(reason: "no")), .init(4, .allowed(GateRun.id(4))),
      ])
  }

  @Test func `the answer to an attempt that was given up counts for the next one`() {
    var gate = GateRun()
    gate.post(1, key: 7)
    gate.give(.withdraw(HookTicket(1)))
    #expect(gate.post(2, key: 7) == [])
    gate.end(1)
    #expect(gate.sent == [1])
    #expect(gate.decisions == [.init(2, .allowed(GateRun.id(1)))])
  }

  @Test func `a post without a key is asked about for itself`() {
    var gate = GateRun()
    gate.post(1)
    gate.post(2)
    gate.end(1)
    gate.end(2)
    #expect(gate.sent == [1, 2])
    #expect(gate.decisions.map(\.verdict) == [.allowed(GateRun.id(1)), .allowed(GateRun.id(2))])
  }

  @Test(arguments: [(1_999, false), (2_000, true), (2_001, true)])
  func `a request has the time limit`(milliseconds: Int, isOver: Bool) {
    var gate = GateRun()
    gate.ask(1)
    gate.pass(.milliseconds(milliseconds))
    #expect(gate.decisions == (isOver ? [.init(1, .unanswered)] : []))
    // A late answer changes nothing.
    gate.end(1)
    #expect(gate.decisions.count == 1)
    #expect(gate.decisions[0].verdict == (isOver ? .unanswered : .allowed(nil)))
  }

  @Test(arguments: [
    (HookPolicy.Failure.closed, HookVerdict.unanswered), (.open, .allowed(GateRun.id(1))),
  ])
  func `the policy decides what a failure means`(
    policy: HookPolicy.Failure, verdict: HookVerdict
  ) {
    for outcome in [
      HookOutcome.failed(detail: "refused"), .answered(status: 500, body: []),
      .answered(status: 429, body: []), .answered(status: 302, body: []), nil,
    ] {
      var gate = GateRun { $0.onFailure = policy }
      gate.post(1)
      if let outcome { gate.end(1, outcome) } else { gate.pass(.seconds(2)) }
      #expect(gate.decisions == [.init(1, verdict)])
      #expect(gate.reports == [.post])
    }
  }

  @Test func `the next post of an author is asked about after a failure`() {
    var gate = GateRun { $0.onFailure = .open }
    gate.post(1)
    gate.post(2)
    gate.pass(.seconds(2))
    #expect(gate.sent == [1, 2])
    gate.pass(.milliseconds(1_999))
    gate.end(2)
    #expect(
      gate.decisions == [.init(1, .allowed(GateRun.id(1))), .init(2, .allowed(GateRun.id(2)))])
  }

  @Test(arguments: [(63, 63), (64, 64), (65, 64)])
  func `at most the bound of requests is under way`(asked: UInt64, sent: Int) {
    var gate = GateRun()
    for number in 1...asked { gate.ask(number) }
    #expect(gate.sent.count == sent)
    gate.end(1)
    #expect(gate.sent.count == Int(asked))
  }

  @Test(arguments: [(2, 0), (3, 0), (4, 1)])
  func `at most the bound of questions waits`(more: UInt64, refused: Int) {
    var gate = GateRun {
      $0.maxInFlight = 1
      $0.maxWaiting = 3
    }
    gate.ask(1)
    for number in 2..<2 + more { gate.ask(number) }
    #expect(gate.decisions.map(\.verdict) == Array(repeating: .unanswered, count: refused))
  }

  @Test func `a question that is not sent in time fails, and its request is never sent`() {
    var gate = GateRun { $0.maxInFlight = 1 }
    gate.ask(1)
    gate.pass(.seconds(1))
    gate.ask(2)
    gate.pass(.seconds(1))
    #expect(gate.decisions == [.init(1, .unanswered)])
    // The first request has not ended yet.
    gate.pass(.seconds(1))
    #expect(gate.decisions.map(\.ticket.number) == [1, 2])
    gate.end(1)
    #expect(gate.sent == [1])
    #expect(gate.ask(3) == [3])
  }

  @Test(arguments: [(15, 0), (16, 0), (17, 1)])
  func `a user has a bound, whatever the policy for failures is`(asked: UInt64, refused: Int) {
    var gate = GateRun { $0.onFailure = .open }
    for number in 1...asked { gate.post(number) }
    #expect(gate.decisions.map(\.verdict) == Array(repeating: .tooMany, count: refused))
    #expect(gate.post(100, of: "bob") == [100])
    gate.end(1)
    gate.post(101)
    #expect(gate.decisions.filter { $0.verdict == .tooMany }.count == refused)
  }

  @Test func `a question that was withdrawn is not sent, and the next one is`() {
    var gate = GateRun()
    gate.post(1)
    gate.post(2)
    gate.post(3)
    gate.give(.withdraw(HookTicket(2)))
    gate.give(.withdraw(HookTicket(99)))
    gate.end(1)
    #expect(gate.sent == [1, 3])
    gate.give(.withdraw(HookTicket(3)))
    gate.end(3)
    #expect(gate.decisions.map(\.ticket.number) == [1])
    #expect(gate.gate.deadline == nil)
  }

  @Test func `ended sockets are reported after the questions, and few at once`() {
    var gate = GateRun {
      $0.maxInFlight = 3
      $0.maxNotesInFlight = 2
      $0.maxNotes = 1
    }
    gate.tell(1)
    gate.tell(2)
    gate.tell(3)
    gate.tell(4)
    #expect(gate.sent == [1, 2])
    #expect(gate.ask(5) == [5])
    #expect(gate.ask(6) == [])
    gate.end(1)
    #expect(gate.sent == [1, 2, 5, 6])
    gate.end(5)
    gate.end(2, .failed(detail: "gone"))
    #expect(gate.sent == [1, 2, 5, 6, 3])
    #expect(gate.reports == [.disconnect])
    // The question of 6 is none of the reports.
    #expect(gate.gate.hasReports)
    gate.end(3)
    #expect(!gate.gate.hasReports)
    #expect(
      gate.metrics.contains(#"holdfast_hook_requests_total{event="disconnect",result="dropped"} 1"#)
    )
  }

  @Test func `counts requests by their result, and their times`() {
    var gate = GateRun()
    gate.ask(1)
    gate.pass(.milliseconds(20))
    gate.end(1)
    gate.post(2)
    gate.end(2, .answered(status: 403, body: []))
    gate.post(3)
    gate.pass(.seconds(2))
    gate.end(3)
    gate.tell(4)
    gate.end(4)
    let lines = gate.metrics.split(separator: "\n").filter {
      $0.hasPrefix("holdfast_hook") && ($0.contains("post") || !$0.contains("_bucket"))
    }
    #expect(
      lines.map(String.init) == [
        #"holdfast_hook_requests_total{event="connect",result="allowed"} 1"#,
        #"holdfast_hook_requests_total{event="disconnect",result="delivered"} 1"#,
        #"holdfast_hook_requests_total{event="post",result="denied"} 1"#,
        #"holdfast_hook_requests_total{event="post",result="timed_out"} 1"#,
        #"holdfast_hook_seconds_sum{event="connect"} 0.02"#,
        #"holdfast_hook_seconds_count{event="connect"} 1"#,
        #"holdfast_hook_seconds_sum{event="disconnect"} 0"#,
        #"holdfast_hook_seconds_count{event="disconnect"} 1"#,
        #"holdfast_hook_seconds_bucket{event="post",le="0.005"} 1"#,
        #"holdfast_hook_seconds_bucket{event="post",le="0.025"} 1"#,
        #"holdfast_hook_seconds_bucket{event="post",le="0.1"} 1"#,
        #"holdfast_hook_seconds_bucket{event="post",le="0.5"} 1"#,
        #"holdfast_hook_seconds_bucket{event="post",le="2.5"} 2"#,
        #"holdfast_hook_seconds_bucket{event="post",le="+Inf"} 2"#,
        #"holdfast_hook_seconds_sum{event="post"} 2"#,
        #"holdfast_hook_seconds_count{event="post"} 2"#,
      ])
  }
}

/// A gate, its clock and its effects.
struct GateRun {
  struct Decision: Equatable {
    var ticket: HookTicket
    var verdict: HookVerdict

    init(_ number: UInt64, _ verdict: HookVerdict) {
      (ticket, self.verdict) = (HookTicket(number), verdict)
    }
  }

  private(set) var gate: HookGate
  private(set) var decisions: [Decision] = []
  private(set) var reports: [HookEvent] = []
  private(set) var sent: [UInt64] = []
  private var now = Instant.zero

  init(_ configure: (inout HookPolicy) -> Void = { _ in }) {
    var policy = HookPolicy()
    configure(&policy)
    gate = HookGate(policy: policy)
  }

  static func id(_ number: UInt64) -> UUID128 { UUID128(high: 1, low: number) }

  static func client(_ user: String? = nil) -> HookClient {
    HookClient(
      ConnectionID(5), route: "stream", user: user, shop: "bakery", address: "203.0.113.9")
  }

  static let dawn = Timestamp(nanoseconds: 1_767_323_045_000_000_000)

  /// The metrics of the gate.
  var metrics: String {
    var page = MetricsPage()
    gate.report(to: &page)
    return page.text
  }

  mutating func give(_ input: HookGate.Input) { note(gate.handle(input, at: now)) }

  /// Asks about a socket. Returns the requests that are sent.
  @discardableResult
  mutating func ask(_ number: UInt64) -> [UInt64] {
    give(
      .ask(HookTicket(number), HookQuestion(.connect, of: Self.client(), at: Self.dawn)),
      countingFrom: sent.count)
  }

  /// Asks about a post. Returns the requests that are sent.
  @discardableResult
  mutating func post(
    _ number: UInt64, of user: String = "ann", in shop: String = "bakery", key: UInt64? = nil,
    text: String = "hello"
  ) -> [UInt64] {
    let post = HookPost(
      id: Self.id(number), key: key.map { UUID128(high: 2, low: $0) }, user: user, shop: shop,
      content: MessageContent(text))
    return give(
      .ask(HookTicket(number), HookQuestion(.post(post), of: Self.client(user), at: Self.dawn)),
      countingFrom: sent.count)
  }

  mutating func tell(_ number: UInt64) {
    let note = HookNote(Self.client(), code: 1_001, life: .seconds(3), at: Self.dawn)
    give(.tell(HookTicket(number), note))
  }

  mutating func end(
    _ number: UInt64, _ outcome: HookOutcome = .answered(status: 204, body: [])
  ) {
    give(.ended(HookTicket(number), outcome))
  }

  /// Lets time pass, and calls the gate at its deadlines.
  mutating func pass(_ duration: Duration) {
    let end = now.advanced(by: duration)
    while let deadline = gate.deadline, deadline <= end {
      now = max(now, deadline)
      note(gate.tick(at: now))
    }
    now = end
  }

  private mutating func give(_ input: HookGate.Input, countingFrom start: Int) -> [UInt64] {
    give(input)
    return Array(sent[start...])
  }

  private mutating func note(_ effects: [HookGate.Effect]) {
    for effect in effects {
      switch effect {
      case .send(let ticket, _, _): sent.append(ticket.number)
      case .decide(let ticket, let verdict): decisions.append(Decision(ticket.number, verdict))
      case .report(let event, _): reports.append(event)
      }
    }
    #expect(gate.brokenInvariants(.thorough) == [])
  }
}
