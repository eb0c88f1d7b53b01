import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct ConnectednessTests {
  private var script = Script(Connectedness<StreamFeature>())

  @Test mutating func `a connection that the server took is well`() {
    script.see(.upgraded(.phone, AttemptID(1), status: 101))
    script.tick(at: 500)
    #expect(script.findings == [])
  }

  @Test mutating func `a connection that the server refused is found`() {
    script.facts.status.phase = .connecting
    script.see(.upgraded(.phone, AttemptID(1), status: 503))
    script.facts.status.phase = .connected
    script.tick(at: 1)
    script.tick(at: 2)
    let detail = "connected, and the server never took it"
    #expect(script.findings == [Finding(.falselyConnected, at: .second(1), detail)])
  }

  @Test mutating func `a new process knows nothing of what the server took before`() {
    script.see(.upgraded(.phone, AttemptID(1), status: 101))
    script.facts.status.phase = .connecting
    script.see(.launched(.phone, run: 2))
    script.facts.status.phase = .connected
    script.tick(at: 1)
    let detail = "connected, and the server never took it"
    #expect(script.findings == [Finding(.falselyConnected, at: .second(1), detail)])
  }

  private mutating func die() {
    script.see(.upgraded(.phone, AttemptID(1), status: 101))
    script.see(.wentDead(.phone, AttemptID(1)), at: 10)
  }

  @Test(arguments: [(99.0, false), (100, false), (101, true)])
  mutating func `a dead connection is found within 90 s`(second: Double, isFound: Bool) {
    die()
    script.tick(at: second)
    let detail = "connected for 91.0 seconds over a dead connection"
    let finding = Finding(.falselyConnected, at: .second(second), detail)
    #expect(script.findings == (isFound ? [finding] : []))
  }

  @Test mutating func `time asleep does not count`() {
    die()
    script.facts.isAwake = false
    script.see(.suspended(.phone), at: 50)
    script.facts.isAwake = true
    script.see(.resumed(.phone), at: 1000)
    script.tick(at: 1050)
    #expect(script.findings == [])
    script.tick(at: 1051)
    let detail = "connected for 91.0 seconds over a dead connection"
    #expect(script.findings == [Finding(.falselyConnected, at: .second(1051), detail)])
  }

  @Test mutating func `what was on its way when it died counts as life, what is late does not`() {
    die()
    script.tell(.ping(AttemptID(1)), at: 11)
    script.tell(.ping(AttemptID(1)), isLate: true, at: 50)
    script.tick(at: 101)
    #expect(script.findings == [])
    script.tick(at: 102)
    let detail = "connected for 91.0 seconds over a dead connection"
    #expect(script.findings == [Finding(.falselyConnected, at: .second(102), detail)])
  }

  @Test mutating func `another connection is not the dead one`() {
    die()
    script.see(.upgraded(.phone, AttemptID(2), status: 101), at: 20)
    script.facts.currentAttempt = AttemptID(2)
    script.tick(at: 500)
    #expect(script.findings == [])
  }
}

struct LatenessTests {
  private var script = Script(Lateness<StreamFeature>())
  private let closed = StreamModel.Input.lost(AttemptID(1), .reset)

  @Test mutating func `a late event that only closes or tells is well`() {
    let effects: [StreamModel.Effect] = [
      .close(AttemptID(1), code: 1000), .update(.notice(.storeRecovered)),
    ]
    script.tick(at: 0)
    script.tell(closed, isLate: true, at: 1, effects)
    script.tell(closed, at: 2, [.open(AttemptID(2))])
    #expect(script.findings == [])
  }

  @Test mutating func `a late event that leads to something is found`() {
    script.tick(at: 0)
    script.tell(closed, isLate: true, at: 1, [.open(AttemptID(2))])
    let detail = "an event of an older attempt led to open"
    #expect(script.findings == [Finding(.late, at: .second(1), detail)])
  }

  @Test mutating func `a late event that changes the status is found`() {
    script.tick(at: 0)
    script.facts.status.phase = .reconnecting
    script.tell(closed, isLate: true, at: 1)
    let detail = "an event of an older attempt made connected reconnecting"
    #expect(script.findings == [Finding(.late, at: .second(1), detail)])
  }

  @Test(arguments: [0.9, 1.0, 1.1])
  mutating func `what was due may be done with it`(deadline: Double) {
    script.facts.deadline = .second(deadline)
    script.tick(at: 0)
    script.tell(closed, isLate: true, at: 1, [.open(AttemptID(2))])
    #expect(script.findings.isEmpty == (deadline <= 1))
  }
}

struct SecrecyTests {
  private var script = Script(Secrecy<StreamFeature>())

  private mutating func findings(_ effect: StreamModel.Effect) -> [Finding] {
    script.facts.secrets = ["abc.def"]
    script.tick(at: 1, [effect])
    return script.findings
  }

  @Test mutating func `other words are well`() {
    #expect(findings(.update(.notice(.unknownType("abc.de abc")))) == [])
  }

  private static func failure(_ detail: String) -> LinkFailure { .local(detail: detail) }

  private static func status(_ reason: LinkStatus.Reason) -> StreamModel.Effect {
    .update(.status(StreamStatus(LinkStatus(phase: .held, reason: reason))))
  }

  private static let effects: [(String, StreamModel.Effect)] = [
    ("a status", status(.failure(failure("x abc.def")))),
    ("a status", status(.exhausted(failure("abc.def y")))),
    ("a notice", .update(.notice(.fetchFailed(failure("ababc.def"))))),
    ("a notice", .update(.notice(.security(.tls(.expired, detail: "abc.def"))))),
    ("a notice", .update(.notice(.unknownType("abc.def")))),
    ("a notice", .update(.notice(.store(.full(detail: "abc.def"))))),
    ("the outbox", .update(.outbox(.number(1, state: .failed(reason: "abc.def"))))),
    ("the outbox", .post(.number(1, state: .failed(reason: "abc.def")), try: TryID(1))),
    (
      "the outbox",
      .commit(
        CommitID(1), .init(outboxPut: [.number(1, state: .failed(reason: "abc.def"))]))
    ),
    ("a message", .commit(CommitID(1), .init(messages: [.number(1, text: "see abc.def")]))),
  ]

  @Test(arguments: 0..<10)
  mutating func `a token is found wherever it may be written or shown`(which: Int) {
    let (place, effect) = Self.effects[which]
    let finding = Finding(.leaked, at: .second(1), "a token stands in \(place)")
    #expect(findings(effect) == [finding])
  }
}

struct BoundsTests {
  private var script = Script(Bounds<StreamFeature>())

  private static let bounds: [(any WritableKeyPath<Backlog, Int> & Sendable, String, Int)] = [
    (\.shown, "shown", 1000), (\.unsent, "unsent", 1000), (\.unstored, "unstored", 4200),
    (\.ahead, "ahead", 10_000),
  ]

  @Test(arguments: 0..<4, [-1, 0, 1])
  mutating func `each bound is kept, and one more is found once`(which: Int, more: Int) {
    let (path, name, bound) = Self.bounds[which]
    script.facts.own.backlog[keyPath: path] = bound + more
    script.tick(at: 1)
    script.tick(at: 2)
    let detail = "\(name): \(bound + 1), and the bound is \(bound)"
    #expect(script.findings == (more > 0 ? [Finding(.unbounded, at: .second(1), detail)] : []))
  }
}
