import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import Testing

@testable import HoldfastHealthRelay

@Suite struct `A pull keeps its budget` {
  static let instant = Duration.nanoseconds(1)

  @Test func `a pull ends at 25 s in every stage`() {
    for stage in 0..<4 {
      var harness = stage == 0 ? PullHarness() : PullHarness.leased(2, for: .seconds(60))
      if stage == 0 { harness.give(.begin) }
      if stage == 2 { harness.read() }
      if stage == 3 {
        harness.pass(.seconds(23))
        harness.fail(.reset)
      }
      let end = Instant.second(125)
      harness.pass(harness.now.duration(to: end) - Self.instant)
      #expect(harness.report == nil, "stage \(stage)")
      harness.pass(Self.instant)
      #expect(harness.report?.ending == .outOfTime, "stage \(stage)")
      #expect(harness.log.filter(\.isEnd).count == 1)
    }
  }

  @Test func `an input at the end of the budget comes too late`() {
    var harness = PullHarness.begun()
    harness.now = .second(125)
    harness.give(.leased(StepID(1), PullHarness.questions(1)))
    #expect(harness.report == PullReport(ending: .outOfTime, again: PullSettings.pause))
  }

  @Test(arguments: [(Duration.seconds(17), 8_000), (.milliseconds(17_001), 7_999)])
  func `an exchange gets 8 s or the remaining budget, if that is less`(
    waited: Duration, milliseconds: Int
  ) {
    var harness = PullHarness.begun()
    harness.pass(waited - .milliseconds(500))
    harness.fail(.reset)
    harness.pass(.milliseconds(500))
    #expect(
      harness.log.last == .lease(StepID(2), max: 4, within: .milliseconds(milliseconds)))
  }

  @Test(arguments: [
    (Duration.seconds(20) - instant, true), (.seconds(20), true), (.seconds(20) + instant, false),
  ])
  func `reading begins only with time to read and to send`(waited: Duration, begins: Bool) {
    var harness = PullHarness.begun()
    harness.pass(waited)
    harness.give(.leased(StepID(1), PullHarness.questions(1, for: .seconds(60))))
    #expect(harness.log.contains { $0 == .read(StepID(2), PullHarness.question(1)) } == begins)
    #expect((harness.report?.left == 1) != begins)
  }

  @Test func `a reading that takes too long is answered with an error`() {
    var harness = PullHarness.leased(1, for: .seconds(60))
    harness.pass(.seconds(21) - Self.instant)
    #expect(harness.log.last == .read(StepID(2), PullHarness.question(1)))
    harness.pass(Self.instant)
    let message = PhoneMessage.healthData(
      PullHarness.question(1).id, .failure("the health data could not be read in time"))
    let result = LeasedResult(lease: "lease1", message: message)
    #expect(
      harness.log.suffix(2) == [
        .discard(StepID(2)), .refuse(StepID(3), result, within: .seconds(4)),
      ])
  }

  @Test(arguments: [
    (Duration.seconds(24) - instant, true), (.seconds(24), true), (.seconds(24) + instant, false),
  ])
  func `sending begins only if the minimum time is left`(waited: Duration, begins: Bool) {
    var harness = PullHarness.leased(1, for: .seconds(60))
    harness.read(parts: 2)
    harness.pass(waited)
    harness.succeed()
    #expect((harness.report == nil) == begins)
    #expect(harness.log.contains(.discard(StepID(2))) != begins)
  }

  @Test(arguments: [(Duration.seconds(24), true), (.seconds(24) + instant, false)])
  func `more questions are leased only if the minimum time is left`(waited: Duration, begins: Bool)
  {
    var harness = PullHarness.leased(1, for: .seconds(60))
    harness.read()
    harness.pass(waited)
    harness.succeed()
    let lease = PullModel.Effect.lease(StepID(4), max: 4, within: .seconds(1))
    let report = PullReport(answered: 1, ending: .outOfTime, again: PullSettings.pause)
    let next = begins ? lease : PullModel.Effect.finish(report)
    #expect(harness.log.last == next)
  }

  @Test func `a lease shorter than the budget limits sending and reading`() {
    var harness = PullHarness.leased(2, for: .seconds(10))
    harness.pass(.seconds(5))
    harness.read()
    #expect(
      harness.log.last
        == .post(StepID(3), of: StepID(2), part: 0, lease: "lease1", within: .seconds(5)))
    harness.pass(.milliseconds(1))
    harness.succeed()
    // The remaining 4.999 s are too short to read and send an answer. The question can be leased
    // again when its lease ends.
    #expect(
      harness.report
        == PullReport(answered: 1, left: 1, ending: .outOfTime, again: .milliseconds(4_999)))
  }

  @Test func `with a send time of zero, reading may last until the lease ends`() {
    let harness = PullHarness.leased(settings: PullSettings(sendTime: .zero))
    #expect(harness.pull.phase == .reading(StepID(2), until: .second(125)))
  }

  @Test func `a lease starts at the time of its request`() {
    var harness = PullHarness.begun()
    harness.pass(.seconds(5))
    harness.give(.leased(StepID(1), PullHarness.questions(1, for: .seconds(10))))
    #expect(harness.pull.deadline == .second(106))
  }

  @Test func `a lease of zero length leaves its question to the backend for one second`() {
    let harness = PullHarness.leased(1, for: .zero)
    #expect(harness.report == PullReport(left: 1, ending: .outOfTime, again: .seconds(1)))
  }

  @Test func `a pull ends at once when the operating system cancels it`() {
    for stage in 0..<4 {
      var harness = stage < 2 ? PullHarness() : PullHarness.leased(2)
      if stage == 1 { harness.give(.begin) }
      if stage == 3 { harness.read() }
      harness.give(.cancel)
      let left = stage < 2 ? 0 : 2
      let again = stage < 2 ? PullSettings.pause : Duration.seconds(25)
      #expect(harness.report == PullReport(left: left, ending: .cancelled, again: again))
      harness.give(.cancel)
      #expect(harness.log.filter(\.isEnd).count == 1)
      #expect(harness.log.contains(.discard(StepID(2))) == (stage > 1))
    }
  }
}

extension PullModel.Effect {
  var isEnd: Bool {
    guard case .finish = self else { return false }
    return true
  }
}
