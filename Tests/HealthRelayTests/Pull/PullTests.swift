import LinkCore
import LinkHealth
import LinkJSON
import LinkWire
import Testing

@testable import HealthRelay

@Suite struct `A pull answers what waits` {
  @Test func `it leases first, with time for one exchange`() {
    var bench = PullBench()
    #expect(bench.pull.deadline == nil)
    bench.give(.begin)
    #expect(bench.take() == [.lease(StepID(1), max: 4, within: .seconds(8))])
    #expect(bench.pull.deadline == bench.now.advanced(by: .seconds(25)))
  }

  @Test func `it begins once`() {
    var bench = PullBench.begun()
    bench.give(.begin)
    #expect(bench.take().count == 1)
  }

  @Test func `nothing waits, so it is over`() {
    let bench = PullBench.leased(0)
    #expect(bench.report == PullReport(ending: .finished))
    #expect(bench.log.last == .finish(PullReport(ending: .finished)))
  }

  @Test func `a question is read, sent, let go of, and then it asks for more`() {
    var bench = PullBench.leased()
    #expect(bench.take().last == .read(StepID(2), PullBench.question(1)))
    bench.give(.prepared(StepID(2), parts: 1))
    #expect(
      bench.take() == [
        .post(StepID(3), of: StepID(2), part: 0, lease: "lease1", within: .seconds(8))
      ])
    bench.give(.posted(StepID(3)))
    #expect(
      bench.take() == [.discard(StepID(2)), .lease(StepID(4), max: 4, within: .seconds(8))])
    bench.give(.leased(StepID(4), PullBench.questions(0)))
    #expect(bench.take() == [.finish(PullReport(answered: 1, ending: .finished))])
    #expect(bench.pull.deadline == nil)
  }

  @Test func `the messages of a long answer go one after the other`() {
    var bench = PullBench.leased()
    let work = bench.step
    bench.read(parts: 3)
    var parts: [Int] = []
    while case .post(_, of: work, let part, "lease1", _)? = bench.log.last {
      parts.append(part)
      bench.succeed()
    }
    #expect(parts == [0, 1, 2])
    #expect(bench.log.filter { $0 == .discard(work) }.count == 1)
    #expect(bench.pull.report.answered == 1)
  }

  @Test func `questions are answered one after the other, oldest first`() {
    var bench = PullBench.leased(3)
    var order: [String] = []
    for _ in 0..<3 {
      guard case .read(_, let leased)? = bench.log.last else { break }
      order.append(leased.lease)
      bench.read()
      bench.succeed()
    }
    #expect(order == ["lease1", "lease2", "lease3"])
  }

  @Test func `a question that cannot be read is answered with its error`() {
    var bench = PullBench.begun()
    let error = RelayWireError(
      .missing(field: "value_type"), id: RelayRequestID("x"), kind: .healthData)
    bench.give(
      .leased(
        StepID(1),
        LeasedQuestions(
          questions: [], expiresIn: .seconds(25), rejected: [.init(lease: "l", error: error)])))
    let result = LeasedResult(lease: "l", message: .refusing(error))
    #expect(bench.log.last == .refuse(StepID(2), result, within: .seconds(8)))
    bench.succeed()
    #expect(bench.pull.report.answered == 1)
  }

  @Test func `a second round in which nothing was done is the last one`() {
    var bench = PullBench.leased()
    bench.read()
    bench.succeed()
    bench.give(.leased(bench.step, PullBench.questions(1)))
    bench.read()
    bench.fail(409)
    #expect(
      bench.report
        == PullReport(answered: 1, left: 1, ending: .finished, again: PullSettings.pause))
  }

  @Test func `a round in which nothing was done is not followed by another`() {
    var bench = PullBench.leased(2)
    for _ in 0..<2 {
      bench.read()
      bench.fail(409)
    }
    #expect(bench.report == PullReport(left: 2, ending: .finished, again: PullSettings.pause))
  }
}

@Suite struct `A pull meets refusals` {
  @Test(arguments: [401, 403])
  func `a token that is refused ends it, at any step`(status: Int) {
    var early = PullBench()
    early.give(.begin)
    early.fail(status)
    #expect(early.report == PullReport(ending: .signedOut))
    var late = PullBench.leased(2)
    let work = late.step
    late.read()
    late.fail(status)
    #expect(late.report == PullReport(left: 2, ending: .signedOut))
    #expect(Array(late.log.suffix(2).dropLast()) == [.discard(work)])
  }

  @Test(arguments: [404, 405, 501])
  func `a backend without this way says so`(status: Int) {
    var bench = PullBench.begun()
    bench.fail(status)
    #expect(bench.report == PullReport(ending: .unsupported))
  }

  @Test(arguments: [400, 404, 410, 422])
  func `an answer that nobody wants is dropped, and the next question answered`(status: Int) {
    var bench = PullBench.leased(2)
    bench.read()
    bench.fail(status)
    guard case .read(_, let leased)? = bench.log.last else {
      Issue.record("it did not go on")
      return
    }
    #expect(leased.lease == "lease2")
    #expect(bench.pull.report.unwanted == 1)
  }

  @Test(arguments: [1, 4])
  func `behind answers that nobody wants other questions may wait`(questions: Int) {
    var bench = PullBench.leased(questions)
    for _ in 0..<questions {
      bench.read()
      bench.fail(410)
    }
    let again = PullSettings.longestPause
    #expect(
      bench.report == PullReport(unwanted: questions, ending: .finished, again: again))
  }

  @Test func `a backend that has no more questions is not asked again for what it did not want`() {
    var bench = PullBench.leased(2)
    bench.read()
    bench.fail(410)
    bench.read()
    bench.succeed()
    bench.give(.leased(bench.step, PullBench.questions(0)))
    #expect(bench.report == PullReport(answered: 1, unwanted: 1, ending: .finished))
  }

  @Test func `a lease that is over leaves the question to the backend`() {
    var bench = PullBench.leased(2)
    bench.read()
    bench.fail(409)
    bench.read()
    bench.succeed()
    bench.give(.leased(bench.step, PullBench.questions(0)))
    #expect(
      bench.report
        == PullReport(answered: 1, left: 1, ending: .finished, again: PullSettings.pause))
  }

  @Test func `a backend that cannot take answers ends it, and the question is not lost`() {
    var bench = PullBench.leased()
    bench.read()
    bench.fail(501)
    let failure = LinkFailure.http(status: 501, retryAfter: nil, detail: "")
    #expect(bench.report == PullReport(left: 1, ending: .failed(failure)))
  }

  @Test(arguments: [1, 2])
  func `an answer that is too long is replaced by an honest error, once`(questions: Int) {
    var bench = PullBench.leased(questions)
    let work = bench.step
    bench.read(parts: 2)
    bench.fail(413)
    let question = PullBench.question(1)
    let message = PhoneMessage.healthData(
      question.id, .failure("the answer is longer than the backend takes"))
    #expect(
      bench.log.suffix(2) == [
        .discard(work),
        .refuse(
          bench.step, LeasedResult(lease: "lease1", message: message), within: .seconds(8)),
      ])
    bench.fail(413)
    #expect(bench.pull.report.unwanted == 1)
  }

  @Test(arguments: [
    LinkFailure.tls(.expired, detail: ""), .captivePortal, .protocolError(detail: ""),
    .local(detail: ""), .http(status: 302, retryAfter: nil, detail: ""),
  ])
  func `what will not pass is not tried again`(failure: LinkFailure) {
    var bench = PullBench.begun()
    bench.fail(failure)
    #expect(bench.report == PullReport(ending: .failed(failure)))
    var late = PullBench.leased()
    late.read()
    late.fail(failure)
    #expect(late.report == PullReport(left: 1, ending: .failed(failure)))
  }
}

@Suite struct `A pull tries again` {
  static let passing: [LinkFailure] = [
    .unreachable(detail: ""), .dns(detail: ""), .refused, .timeout(.response), .reset, .ended,
    .proxy(detail: ""), .http(status: 408, retryAfter: nil, detail: ""),
    .http(status: 429, retryAfter: nil, detail: ""),
    .http(status: 500, retryAfter: nil, detail: ""),
    .http(status: 503, retryAfter: nil, detail: ""),
  ]

  @Test(arguments: passing)
  func `leasing is repeated after each wait of the list, and then it fails`(
    failure: LinkFailure
  ) {
    var bench = PullBench.begun()
    for wait in PullBench.waits {
      bench.fail(failure)
      let tries = bench.log.count
      bench.pass(wait - .nanoseconds(1))
      #expect(bench.log.count == tries)
      bench.pass(.nanoseconds(1))
      #expect(bench.log.count == tries + 1)
    }
    bench.fail(failure)
    #expect(bench.report == PullReport(ending: .failed(failure), again: PullSettings.pause))
  }

  @Test(arguments: passing)
  func `sending is repeated word for word`(failure: LinkFailure) {
    var bench = PullBench.leased()
    bench.read(parts: 2)
    bench.succeed()
    let work = StepID(2)
    for wait in PullBench.waits {
      #expect(
        bench.take().last
          == .post(bench.newest, of: work, part: 1, lease: "lease1", within: .seconds(8)))
      bench.give(.failed(bench.newest, failure))
      bench.pass(wait)
    }
    bench.give(.failed(bench.newest, failure))
    #expect(
      bench.report == PullReport(left: 1, ending: .failed(failure), again: PullSettings.pause))
    #expect(bench.take().contains(.discard(work)))
  }

  @Test func `the count of tries is each exchange's own`() {
    var bench = PullBench.leased(2)
    for _ in 0..<2 {
      bench.read()
      for wait in PullBench.waits {
        bench.fail(.reset)
        bench.pass(wait)
      }
      bench.succeed()
    }
    #expect(bench.pull.report.answered == 2)
  }

  @Test func `leasing behind an answer has all tries of its own`() {
    var bench = PullBench.leased()
    bench.read()
    bench.succeed()
    for wait in PullBench.waits {
      bench.fail(.reset)
      #expect(bench.pull.deadline == bench.now.advanced(by: wait))
      bench.pass(wait)
    }
  }

  @Test func `the backend's wish lengthens the wait`() {
    var bench = PullBench.begun()
    bench.fail(503, retryAfter: .seconds(3))
    #expect(bench.pull.deadline == bench.now.advanced(by: .seconds(3)))
  }

  @Test(arguments: [
    (Duration.seconds(24), true), (.seconds(24) + .nanoseconds(1), false), (.seconds(60), false),
  ])
  func `a wish that leaves less than the least time ends it`(wish: Duration, waits: Bool) {
    var bench = PullBench.begun()
    bench.fail(503, retryAfter: wish)
    let failure = LinkFailure.http(status: 503, retryAfter: wish, detail: "")
    let over = PullReport(ending: .failed(failure), again: max(wish, PullSettings.pause))
    #expect(bench.report == (waits ? nil : over))
  }

  @Test(arguments: [
    (Duration.seconds(60), Duration.seconds(60)), (.seconds(61), .seconds(61)),
    (.seconds(3_600), .seconds(3_600)), (.seconds(3_601), .seconds(3_600)),
  ])
  func `a long wish is passed on, up to an hour`(wish: Duration, again: Duration) {
    var bench = PullBench.begun()
    bench.fail(503, retryAfter: wish)
    #expect(bench.report?.again == again)
  }
}

extension PullBench {
  /// The step in progress, whether or not its effect is still in the log.
  var newest: StepID {
    switch pull.phase {
    case .leasing(let step, _, _), .reading(let step, _), .posting(let step, _, _): step
    case .new, .pausing, .ended: StepID(0)
    }
  }
}
