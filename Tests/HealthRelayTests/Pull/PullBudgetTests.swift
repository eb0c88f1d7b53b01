import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import HealthRelay

@Suite struct `A pull keeps its budget` {
  static let instant = Duration.nanoseconds(1)

  @Test func `a pull ends at 25 s in every stage`() {
    for stage in 0..<4 {
      var bench = stage == 0 ? PullBench() : PullBench.leased(2, for: .seconds(60))
      if stage == 0 { bench.give(.begin) }
      if stage == 2 { bench.read() }
      if stage == 3 {
        bench.pass(.seconds(23))
        bench.fail(.reset)
      }
      let end = Instant.second(125)
      bench.pass(bench.now.duration(to: end) - Self.instant)
      #expect(bench.report == nil, "stage \(stage)")
      bench.pass(Self.instant)
      #expect(bench.report?.ending == .outOfTime, "stage \(stage)")
      #expect(bench.log.filter(\.isEnd).count == 1)
    }
  }

  @Test func `an input at the end of the budget comes too late`() {
    var bench = PullBench.begun()
    bench.now = .second(125)
    bench.give(.leased(StepID(1), PullBench.questions(1)))
    #expect(bench.report == PullReport(ending: .outOfTime, again: PullSettings.pause))
  }

  @Test(arguments: [(Duration.seconds(17), 8_000), (.milliseconds(17_001), 7_999)])
  func `an exchange gets 8 s or the remaining budget, if that is less`(
    waited: Duration, milliseconds: Int
  ) {
    var bench = PullBench.begun()
    bench.pass(waited - .milliseconds(500))
    bench.fail(.reset)
    bench.pass(.milliseconds(500))
    #expect(
      bench.log.last == .lease(StepID(2), max: 4, within: .milliseconds(milliseconds)))
  }

  @Test(arguments: [
    (Duration.seconds(20) - instant, true), (.seconds(20), true), (.seconds(20) + instant, false),
  ])
  func `reading begins only with time to read and to send`(waited: Duration, begins: Bool) {
    var bench = PullBench.begun()
    bench.pass(waited)
    bench.give(.leased(StepID(1), PullBench.questions(1, for: .seconds(60))))
    #expect(bench.log.contains { $0 == .read(StepID(2), PullBench.question(1)) } == begins)
    #expect((bench.report?.left == 1) != begins)
  }

  @Test func `a reading that takes too long is answered with an error`() {
    var bench = PullBench.leased(1, for: .seconds(60))
    bench.pass(.seconds(21) - Self.instant)
    #expect(bench.log.last == .read(StepID(2), PullBench.question(1)))
    bench.pass(Self.instant)
    let message = PhoneMessage.healthData(
      PullBench.question(1).id, .failure("the health data could not be read in time"))
    let result = LeasedResult(lease: "lease1", message: message)
    #expect(
      bench.log.suffix(2) == [
        .discard(StepID(2)), .refuse(StepID(3), result, within: .seconds(4)),
      ])
  }

  @Test(arguments: [
    (Duration.seconds(24) - instant, true), (.seconds(24), true), (.seconds(24) + instant, false),
  ])
  func `sending begins only if the minimum time is left`(waited: Duration, begins: Bool) {
    var bench = PullBench.leased(1, for: .seconds(60))
    bench.read(parts: 2)
    bench.pass(waited)
    bench.succeed()
    #expect((bench.report == nil) == begins)
    #expect(bench.log.contains(.discard(StepID(2))) != begins)
  }

  @Test(arguments: [(Duration.seconds(24), true), (.seconds(24) + instant, false)])
  func `more questions are leased only if the minimum time is left`(waited: Duration, begins: Bool)
  {
    var bench = PullBench.leased(1, for: .seconds(60))
    bench.read()
    bench.pass(waited)
    bench.succeed()
    let lease = PullModel.Effect.lease(StepID(4), max: 4, within: .seconds(1))
    let report = PullReport(answered: 1, ending: .outOfTime, again: PullSettings.pause)
    let next = begins ? lease : PullModel.Effect.finish(report)
    #expect(bench.log.last == next)
  }

  @Test func `a lease shorter than the budget limits sending and reading`() {
    var bench = PullBench.leased(2, for: .seconds(10))
    bench.pass(.seconds(5))
    bench.read()
    #expect(
      bench.log.last
        == .post(StepID(3), of: StepID(2), part: 0, lease: "lease1", within: .seconds(5)))
    bench.pass(.milliseconds(1))
    bench.succeed()
    // 4.999 s are too short to read and send. The question returns when its lease is over.
    #expect(
      bench.report
        == PullReport(answered: 1, left: 1, ending: .outOfTime, again: .milliseconds(4_999)))
  }

  @Test func `with a send time of zero, reading may last until the lease ends`() {
    let bench = PullBench.leased(settings: PullSettings(sendTime: .zero))
    #expect(bench.pull.phase == .reading(StepID(2), until: .second(125)))
  }

  @Test func `a lease starts at the time of its request`() {
    var bench = PullBench.begun()
    bench.pass(.seconds(5))
    bench.give(.leased(StepID(1), PullBench.questions(1, for: .seconds(10))))
    #expect(bench.pull.deadline == .second(106))
  }

  @Test func `a lease of zero length leaves its question to the backend for one second`() {
    let bench = PullBench.leased(1, for: .zero)
    #expect(bench.report == PullReport(left: 1, ending: .outOfTime, again: .seconds(1)))
  }

  @Test func `a pull ends at once when the operating system cancels it`() {
    for stage in 0..<4 {
      var bench = stage < 2 ? PullBench() : PullBench.leased(2)
      if stage == 1 { bench.give(.begin) }
      if stage == 3 { bench.read() }
      bench.give(.cancel)
      let left = stage < 2 ? 0 : 2
      let again = stage < 2 ? PullSettings.pause : Duration.seconds(25)
      #expect(bench.report == PullReport(left: left, ending: .cancelled, again: again))
      bench.give(.cancel)
      #expect(bench.log.filter(\.isEnd).count == 1)
      #expect(bench.log.contains(.discard(StepID(2))) == (stage > 1))
    }
  }
}

extension PullModel.Effect {
  var isEnd: Bool {
    guard case .finish = self else { return false }
    return true
  }
}
