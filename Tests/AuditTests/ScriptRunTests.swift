import HoldfastCore
import Testing

@testable import HoldfastSessionAudit

/// Tests of scripts, including waits for several connections.
@Suite struct ScriptRunTests {
  private static func run(_ steps: [AuditScript.Step]) -> ScriptRun {
    ScriptRun(
      AuditScript(name: .opening, phase: .first, needsLogin: false, steps: steps), key: nil,
      at: .zero, wall: Timestamp(nanoseconds: 0))
  }

  private static let begun: AuditScript.Step = .expect(
    [.opened], count: 1, within: .seconds(5), orStop: true)
  private static let allAnswered: AuditScript.Step = .expect(
    [.opened, .end], count: 2, within: .seconds(10), orStop: false)
  private static let pong = Array(#"{"type":"pong"}"#.utf8)

  @Test func `a wait for all connections continues after the newest one has ended`() {
    var run = Self.run([.open(0), .open(1), Self.allAnswered])
    #expect(run.begin(at: .zero) == [.open(0), .open(1)])
    #expect(run.handle(.ended(1, .reset), at: .second(1)) == [])
    #expect(run.deadline == .second(10))
    #expect(run.handle(.opened(0, headers: [:]), at: .second(2)) == [.drop(0)])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test func `a wait for several messages counts those of one connection and ends with it`() {
    var run = Self.run([
      .open(0), .open(1),
      .expect([.message("pong")], count: 2, within: .seconds(10), orStop: false),
    ])
    #expect(run.begin(at: .zero) == [.open(0), .open(1)])
    for second in [1.0, 2, 3] {
      #expect(run.handle(.text(0, Self.pong), at: .second(second)) == [])
    }
    #expect(run.deadline == .second(10))
    #expect(run.handle(.ended(1, .reset), at: .second(4)) == [])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test func `connections that are opened later get a new wait`() {
    var run = Self.run([.open(0), Self.begun, .open(1), .open(2), Self.allAnswered])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .second(1)) == [.open(1), .open(2)])
    #expect(run.handle(.opened(1, headers: [:]), at: .second(2)) == [])
    #expect(run.deadline == .second(11))
    #expect(
      run.handle(.opened(2, headers: [:]), at: .second(3)) == [.drop(0), .drop(1), .drop(2)])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test(arguments: [
    (AuditScript.Step.ping, ScriptRun.Effect.ping(0)), (.raw([1], "a byte"), .sendRaw(0, [1])),
    (.say([.text("a")]), .send(0, [0x61])),
  ])
  func `an event before the last send does not end a wait`(
    step: AuditScript.Step, effect: ScriptRun.Effect
  ) {
    let pong: AuditScript.Step = .expect([.pong], count: 1, within: .seconds(3), orStop: false)
    var run = Self.run([.open(0), Self.begun, step, pong, step, pong])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .zero) == [effect])
    #expect(run.handle(.pong(0), at: .second(1)) == [effect])
    #expect(run.deadline == .second(4))
    #expect(run.handle(.pong(0), at: .second(2)) == [.drop(0)])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test func `a script ends if its connection is not open after five seconds`()
    throws
  {
    let plan = AuditPlan(generator: RandomSource(seed: 1))
    let script = try #require(plan.scripts.first { $0.name == .opening })
    var run = ScriptRun(script, key: nil, at: .zero, wall: Timestamp(nanoseconds: 0))
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.deadline == .second(5))
    #expect(run.tick(at: .second(5)) == [])
    #expect(run.isOver && !run.record.isComplete)
  }

  @Test func `a script that stops early drops its other connections`() {
    var run = Self.run([.open(0), Self.begun, .open(1), Self.begun])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .second(1)) == [.open(1)])
    #expect(run.handle(.ended(1, .refused), at: .second(2)) == [.drop(0)])
    #expect(run.isOver && !run.record.isComplete)
  }

  @Test(arguments: ["pong", "connected"])
  func `a script may end if a message arrived at any time`(type: String) {
    var run = Self.run([.open(0), Self.begun, .ping, .endIf(type), .open(1), Self.begun])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.text(0, Self.pong), at: .zero) == [])
    let effects = run.handle(.opened(0, headers: [:]), at: .zero)
    #expect(effects == (type == "pong" ? [.ping(0), .drop(0)] : [.ping(0), .open(1)]))
    #expect(run.isOver == (type == "pong") && run.record.isComplete == run.isOver)
  }

  @Test func `compressed messages are counted after the end of a script too`() {
    var run = Self.run([.open(0)])
    #expect(run.begin(at: .zero) == [.open(0)])
    run.note(compressed: 2, on: 0)
    run.note(compressed: 0, on: 1)
    run.note(compressed: 1, on: 0)
    #expect(run.isOver && run.record.compressed == [0: 3])
  }

  @Test func `a wait ends at its deadline, and not earlier`() {
    var run = Self.run([.open(0), Self.begun])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.tick(at: .second(4.999)) == [])
    #expect(run.deadline == .second(5))
    #expect(!run.isOver && run.record.events.count == 1)
    #expect(run.tick(at: .second(5)) == [])
    #expect(run.isOver)
  }

  @Test func `a completed script stays complete when it is stopped`() {
    var run = Self.run([.open(0)])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.isOver && run.record.isComplete)
    #expect(run.stop(isComplete: false) == [])
    #expect(run.record.isComplete)
  }

  @Test func `an event before anything was sent ends a wait too`() {
    var run = Self.run([Self.begun])
    #expect(run.begin(at: .zero) == [])
    #expect(run.handle(.opened(0, headers: [:]), at: .second(1)) == [.drop(0)])
    #expect(run.record.isComplete)
  }

  @Test func `a binary message counts as an answer and is recorded`() {
    let answer: AuditScript.Step = .expect(
      [.anything], count: 1, within: .seconds(3), orStop: false)
    var run = Self.run([.open(0), Self.begun, .ping, answer])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .zero) == [.ping(0)])
    #expect(run.handle(.binary(0, bytes: 3), at: .second(1)) == [.drop(0)])
    let event = AuditRecord.Event(at: .seconds(1), socket: 0, kind: .binary(bytes: 3))
    #expect(run.record.events.last == event)
  }

  @Test func `an empty key hides nothing`() {
    let script = AuditScript(
      name: .opening, phase: .first, needsLogin: false, steps: [.open(0), Self.begun])
    let key = AuditKey(key: Secret(""), sign: { $0 })
    var run = ScriptRun(script, key: key, at: .zero, wall: Timestamp(nanoseconds: 0))
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.text(0, Self.pong), at: .zero) == [])
    let message = AuditMessage(Self.pong, hide: { $0 })
    #expect(run.record.events.last?.kind == .received(message))
  }

  private static func script(_ name: AuditScript.Name) throws -> AuditScript {
    try #require(AuditPlan(generator: RandomSource(seed: 1)).scripts.first { $0.name == name })
  }

  @Test func `a burst without answers ends after ten seconds`() throws {
    var run = ScriptRun(
      try Self.script(.burst), key: nil, at: .zero, wall: Timestamp(nanoseconds: 0))
    #expect(run.begin(at: .zero) == (0..<20).map(ScriptRun.Effect.open))
    #expect(run.deadline == .second(10))
    #expect(run.tick(at: .second(10)) == [])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test func `a ping after prompts has ten seconds, and their responses twelve more`() throws {
    var run = ScriptRun(
      try Self.script(.congestion), key: nil, at: .zero, wall: Timestamp(nanoseconds: 0))
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .zero) == [])
    #expect(run.tick(at: .second(3)).count == 1)
    let connected = Array(#"{"type":"connected","message":"hi","session_id":"a"}"#.utf8)
    #expect(run.handle(.text(0, connected), at: .second(3)).count == 9)
    #expect(run.deadline == .second(13))
    #expect(run.tick(at: .second(13)) == [])
    #expect(run.deadline == .second(25))
    #expect(run.tick(at: .second(25)) == [.drop(0)])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test func `a script ends after eight mebibytes`() {
    var run = Self.run([
      .open(0), .expect([.pong], count: 1, within: .seconds(10), orStop: false),
    ])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .zero) == [])
    #expect(run.handle(.binary(0, bytes: 8_388_607), at: .zero) == [])
    #expect(run.handle(.binary(0, bytes: 1), at: .zero) == [.drop(0)])
    #expect(run.isOver && !run.record.isComplete)
  }

  @Test(arguments: [0, 1])
  func `the bytes of texts count toward the limit of a script`(left: Int) {
    var run = Self.run([
      .open(0), .expect([.pong], count: 1, within: .seconds(10), orStop: false),
    ])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .zero) == [])
    let before = 8_388_608 - Self.pong.count - left
    #expect(run.handle(.binary(0, bytes: before), at: .zero) == [])
    #expect(run.handle(.text(0, Self.pong), at: .zero) == (left == 0 ? [.drop(0)] : []))
    #expect(run.isOver == (left == 0))
  }

  @Test func `events after the end of a script are not recorded`() {
    var run = Self.run([.open(0)])
    #expect(run.begin(at: .zero) == [.open(0)])
    let record = run.record
    #expect(run.handle(.opened(0, headers: [:]), at: .second(1)) == [])
    #expect(run.record == record)
  }
}
