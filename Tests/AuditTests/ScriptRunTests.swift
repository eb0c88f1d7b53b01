import LinkCore
import Testing

@testable import SessionAudit

/// What a script waits for when it has several connections.
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

  @Test func `a wait for all connections goes on when the newest one has ended`() {
    var run = Self.run([.open(0), .open(1), Self.allAnswered])
    #expect(run.begin(at: .zero) == [.open(0), .open(1)])
    #expect(run.handle(.ended(1, .reset), at: .second(1)) == [])
    #expect(run.deadline == .second(10))
    #expect(run.handle(.opened(0, headers: [:]), at: .second(2)) == [.drop(0)])
    #expect(run.isOver && run.record.isComplete)
  }

  @Test func `a wait for several messages is for those of one connection, and over with it`() {
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

  @Test func `connections that are opened later are waited for anew`() {
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
  func `what came before the last thing was sent ends no wait`(
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

  @Test func `a script of the plan is over if its connection is not there after five seconds`()
    throws
  {
    let plan = AuditPlan(chance: Chance(seed: 1))
    let script = try #require(plan.scripts.first { $0.name == .opening })
    var run = ScriptRun(script, key: nil, at: .zero, wall: Timestamp(nanoseconds: 0))
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.deadline == .second(5))
    #expect(run.tick(at: .second(5)) == [])
    #expect(run.isOver && !run.record.isComplete)
  }

  @Test func `a script that goes no further ends its other connections`() {
    var run = Self.run([.open(0), Self.begun, .open(1), Self.begun])
    #expect(run.begin(at: .zero) == [.open(0)])
    #expect(run.handle(.opened(0, headers: [:]), at: .second(1)) == [.open(1)])
    #expect(run.handle(.ended(1, .refused), at: .second(2)) == [.drop(0)])
    #expect(run.isOver && !run.record.isComplete)
  }

  @Test func `eight mebibytes end a script`() {
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
  func `the bytes of texts count for the end of a script`(left: Int) {
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
}
