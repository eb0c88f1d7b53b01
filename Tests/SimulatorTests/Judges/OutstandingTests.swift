import LinkCore
import MessageStream
import Testing

@testable import LinkSimulator

struct OutstandingTests {
  private var script = Script(Outstanding<StreamFeature>())
  private let idle = Finding(
    .stuck, at: .second(1), "is wanted, and nothing is outstanding")

  @Test mutating func `a deadline that is kept is well`() {
    script.see(.launched(.phone, run: 1))
    script.facts.deadline = .second(5)
    script.tell(.refresh, at: 1)
    script.facts.deadline = .second(9)
    script.tick(at: 5)
    script.facts.deadline = nil
    script.tick(at: 9)
    #expect(script.end(at: 99) == [])
  }

  /// Nothing is outstanding, but for what `change` makes; then time passes.
  private mutating func findings(_ change: (inout Facts) -> Void) -> [Finding] {
    script.facts.status = LinkStatus(phase: .standby)
    script.facts.deadline = nil
    script.facts.currentAttempt = nil
    change(&script.facts)
    script.tell(.refresh, at: 1)
    script.see(.calm, at: 1)
    return script.end(at: 2)
  }

  @Test mutating func `nothing outstanding is found once time passes`() {
    #expect(findings { _ in } == [idle])
  }

  @Test(arguments: 0..<8)
  mutating func `what is outstanding, or in the way, is well`(which: Int) {
    let changes: [(inout Facts) -> Void] = [
      { $0.deadline = .second(3) }, { $0.currentAttempt = AttemptID(4) }, { $0.underWay = 1 },
      { $0.isWanted = false }, { $0.isAwake = false }, { $0.isReachable = false },
      { $0.isSignedIn = false }, { $0.storeFails = true },
    ]
    #expect(findings(changes[which]) == [])
  }

  @Test mutating func `an answer that ended it is a reason`() {
    #expect(findings { $0.status = LinkStatus(phase: .failed, reason: .signIn) } == [])
  }

  @Test mutating func `a deadline at which nobody was woken is found`() {
    script.facts.deadline = .second(5)
    script.tell(.refresh, at: 1)
    script.tell(.refresh, at: 5)
    script.tell(.refresh, at: 6)
    script.tell(.refresh, at: 7)
    let detail = "its deadline passed, and it was not woken"
    #expect(script.end(at: 8) == [Finding(.stuck, at: .second(6), detail)])
  }

  @Test mutating func `a deadline may pass while it is suspended, and not after`() {
    script.facts.deadline = .second(5)
    script.tell(.refresh, at: 1)
    script.facts.isAwake = false
    script.see(.suspended(.phone), at: 2)
    script.see(.calm, at: 10)
    script.facts.isAwake = true
    script.see(.resumed(.phone), at: 20)
    #expect(script.findings == [])
    let detail = "its deadline passed, and it was not woken"
    #expect(script.end(at: 21) == [Finding(.stuck, at: .second(21), detail)])
  }

  @Test mutating func `a deadline that a suspension moves is found`() {
    script.facts.deadline = .second(5)
    script.see(.suspended(.phone), at: 2)
    script.facts.deadline = .second(23)
    script.see(.resumed(.phone), at: 20)
    let detail = "its deadline moved while it was suspended"
    #expect(script.end(at: 20) == [Finding(.stuck, at: .second(20), detail)])
  }

  @Test(arguments: [4.0, 5, 6])
  mutating func `a tick moves the deadline on`(deadline: Double) {
    script.facts.deadline = .second(deadline)
    script.tick(at: 5)
    let finding = Finding(.stuck, at: .second(5), "was woken, and its deadline did not move")
    #expect(script.findings == (deadline > 5 ? [] : [finding]))
  }

  @Test mutating func `held back by what is not so is found once the network had time to settle`() {
    script.facts.status = LinkStatus(phase: .held, reason: .obstacle(.background))
    script.tell(.refresh, at: 1)
    script.tell(.refresh, at: 3)
    #expect(script.findings == [])
    script.tell(.refresh, at: 3.001)
    let detail = "is held back by what is not so: held, obstacle(LinkCore.Obstacle.background)"
    #expect(script.findings == [Finding(.stuck, at: .second(3.001), detail)])
  }

  @Test mutating func `held back by what is so is well`() {
    script.facts.status = LinkStatus(phase: .held, reason: .obstacle(.unreachable))
    script.facts.isReachable = false
    script.tell(.refresh, at: 1)
    script.tell(.refresh, at: 9)
    #expect(script.findings == [])
  }
}
