import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import Testing

@testable import HoldfastHealthRelay

@Suite struct `A pull answers what waits` {
  @Test func `a pull first leases questions, with time for one exchange`() {
    var harness = PullHarness()
    #expect(harness.pull.deadline == nil)
    harness.give(.begin)
    #expect(harness.take() == [.lease(StepID(1), max: 4, within: .seconds(8))])
    #expect(harness.pull.deadline == harness.now.advanced(by: .seconds(25)))
  }

  @Test func `a second begin input changes nothing`() {
    var harness = PullHarness.begun()
    harness.give(.begin)
    #expect(harness.take().count == 1)
  }

  @Test func `a pull ends if no questions are pending`() {
    let harness = PullHarness.leased(0)
    #expect(harness.report == PullReport(ending: .finished))
    #expect(harness.log.last == .finish(PullReport(ending: .finished)))
  }

  @Test func `a question is read, answered and discarded before the next lease request`() {
    var harness = PullHarness.leased()
    #expect(harness.take().last == .read(StepID(2), PullHarness.question(1)))
    harness.give(.prepared(StepID(2), parts: 1))
    #expect(
      harness.take() == [
        .post(StepID(3), of: StepID(2), part: 0, lease: "lease1", within: .seconds(8))
      ])
    harness.give(.posted(StepID(3)))
    #expect(
      harness.take() == [.discard(StepID(2)), .lease(StepID(4), max: 4, within: .seconds(8))])
    harness.give(.leased(StepID(4), PullHarness.questions(0)))
    #expect(harness.take() == [.finish(PullReport(answered: 1, ending: .finished))])
    #expect(harness.pull.deadline == nil)
  }

  @Test func `the messages of a long answer go one after the other`() {
    var harness = PullHarness.leased()
    let work = harness.step
    harness.read(parts: 3)
    var parts: [Int] = []
    while case .post(_, of: work, let part, "lease1", _)? = harness.log.last {
      parts.append(part)
      harness.succeed()
    }
    #expect(parts == [0, 1, 2])
    #expect(harness.log.filter { $0 == .discard(work) }.count == 1)
    #expect(harness.pull.report.answered == 1)
  }

  @Test func `questions are answered one after the other, oldest first`() {
    var harness = PullHarness.leased(3)
    var order: [String] = []
    for _ in 0..<3 {
      guard case .read(_, let leased)? = harness.log.last else { break }
      order.append(leased.lease)
      harness.read()
      harness.succeed()
    }
    #expect(order == ["lease1", "lease2", "lease3"])
  }

  @Test func `a malformed question is answered with its error`() {
    var harness = PullHarness.begun()
    let error = RelayWireError(
      .missing(field: "value_type"), id: RelayRequestID("x"), kind: .healthData)
    harness.give(
      .leased(
        StepID(1),
        LeasedQuestions(
          questions: [], expiresIn: .seconds(25), rejected: [.init(lease: "l", error: error)])))
    let result = LeasedResult(lease: "l", message: .refusing(error))
    #expect(harness.log.last == .refuse(StepID(2), result, within: .seconds(8)))
    harness.succeed()
    #expect(harness.pull.report.answered == 1)
  }

  @Test func `a second round without an accepted answer is the last`() {
    var harness = PullHarness.leased()
    harness.read()
    harness.succeed()
    harness.give(.leased(harness.step, PullHarness.questions(1)))
    harness.read()
    harness.fail(409)
    #expect(
      harness.report
        == PullReport(answered: 1, left: 1, ending: .finished, again: PullSettings.pause))
  }

  @Test func `a first round without an accepted answer is the last`() {
    var harness = PullHarness.leased(2)
    for _ in 0..<2 {
      harness.read()
      harness.fail(409)
    }
    #expect(harness.report == PullReport(left: 2, ending: .finished, again: PullSettings.pause))
  }
}

@Suite struct `A pull meets refusals` {
  @Test(arguments: [401, 403])
  func `a refused token ends the pull at any step`(status: Int) {
    var early = PullHarness()
    early.give(.begin)
    early.fail(status)
    #expect(early.report == PullReport(ending: .signedOut))
    var late = PullHarness.leased(2)
    let work = late.step
    late.read()
    late.fail(status)
    #expect(late.report == PullReport(left: 2, ending: .signedOut))
    #expect(Array(late.log.suffix(2).dropLast()) == [.discard(work)])
  }

  @Test(arguments: [404, 405, 501])
  func `a pull ends as unsupported if the backend lacks the endpoint`(status: Int) {
    var harness = PullHarness.begun()
    harness.fail(status)
    #expect(harness.report == PullReport(ending: .unsupported))
  }

  @Test(arguments: [400, 404, 410, 422])
  func `an answer that the backend rejects is dropped, and the next question is answered`(
    status: Int
  ) {
    var harness = PullHarness.leased(2)
    harness.read()
    harness.fail(status)
    guard case .read(_, let leased)? = harness.log.last else {
      Issue.record("it did not go on")
      return
    }
    #expect(leased.lease == "lease2")
    #expect(harness.pull.report.unwanted == 1)
  }

  @Test(arguments: [1, 4])
  func `a pull whose answers are all rejected is repeated, as more questions may be pending`(
    questions: Int
  ) {
    var harness = PullHarness.leased(questions)
    for _ in 0..<questions {
      harness.read()
      harness.fail(410)
    }
    let again = PullSettings.longestPause
    #expect(
      harness.report == PullReport(unwanted: questions, ending: .finished, again: again))
  }

  @Test func `a rejected answer causes no new pull if the backend has no more questions`() {
    var harness = PullHarness.leased(2)
    harness.read()
    harness.fail(410)
    harness.read()
    harness.succeed()
    harness.give(.leased(harness.step, PullHarness.questions(0)))
    #expect(harness.report == PullReport(answered: 1, unwanted: 1, ending: .finished))
  }

  @Test func `an expired lease leaves its question to the backend`() {
    var harness = PullHarness.leased(2)
    harness.read()
    harness.fail(409)
    harness.read()
    harness.succeed()
    harness.give(.leased(harness.step, PullHarness.questions(0)))
    #expect(
      harness.report
        == PullReport(answered: 1, left: 1, ending: .finished, again: PullSettings.pause))
  }

  @Test func `a backend that cannot accept answers ends the pull, and the question is left to it`()
  {
    var harness = PullHarness.leased()
    harness.read()
    harness.fail(501)
    let failure = LinkFailure.http(status: 501, retryAfter: nil, detail: "")
    #expect(harness.report == PullReport(left: 1, ending: .failed(failure)))
  }

  @Test(arguments: [1, 2])
  func `an answer that is too long is replaced once by an error`(questions: Int) {
    var harness = PullHarness.leased(questions)
    let work = harness.step
    harness.read(parts: 2)
    harness.fail(413)
    let question = PullHarness.question(1)
    let message = PhoneMessage.healthData(
      question.id, .failure("the answer is longer than the backend takes"))
    #expect(
      harness.log.suffix(2) == [
        .discard(work),
        .refuse(
          harness.step, LeasedResult(lease: "lease1", message: message), within: .seconds(8)),
      ])
    harness.fail(413)
    #expect(harness.pull.report.unwanted == 1)
  }

  @Test(arguments: [
    LinkFailure.tls(.expired, detail: ""), .captivePortal, .protocolError(detail: ""),
    .local(detail: ""), .http(status: 302, retryAfter: nil, detail: ""),
  ])
  func `permanent failures are not retried`(failure: LinkFailure) {
    var harness = PullHarness.begun()
    harness.fail(failure)
    #expect(harness.report == PullReport(ending: .failed(failure)))
    var late = PullHarness.leased()
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
  func `leasing is retried after each delay in the list, and then the pull fails`(
    failure: LinkFailure
  ) {
    var harness = PullHarness.begun()
    for wait in PullHarness.waits {
      harness.fail(failure)
      let tries = harness.log.count
      harness.pass(wait - .nanoseconds(1))
      #expect(harness.log.count == tries)
      harness.pass(.nanoseconds(1))
      #expect(harness.log.count == tries + 1)
    }
    harness.fail(failure)
    #expect(harness.report == PullReport(ending: .failed(failure), again: PullSettings.pause))
  }

  @Test(arguments: passing)
  func `a failed part is sent again unchanged after each delay in the list`(failure: LinkFailure) {
    var harness = PullHarness.leased()
    harness.read(parts: 2)
    harness.succeed()
    let work = StepID(2)
    for wait in PullHarness.waits {
      #expect(
        harness.take().last
          == .post(harness.newest, of: work, part: 1, lease: "lease1", within: .seconds(8)))
      harness.give(.failed(harness.newest, failure))
      harness.pass(wait)
    }
    harness.give(.failed(harness.newest, failure))
    #expect(
      harness.report == PullReport(left: 1, ending: .failed(failure), again: PullSettings.pause))
    #expect(harness.take().contains(.discard(work)))
  }

  @Test func `each exchange has its own retry count`() {
    var harness = PullHarness.leased(2)
    for _ in 0..<2 {
      harness.read()
      for wait in PullHarness.waits {
        harness.fail(.reset)
        harness.pass(wait)
      }
      harness.succeed()
    }
    #expect(harness.pull.report.answered == 2)
  }

  @Test func `leasing after an answer has a full set of retries`() {
    var harness = PullHarness.leased()
    harness.read()
    harness.succeed()
    for wait in PullHarness.waits {
      harness.fail(.reset)
      #expect(harness.pull.deadline == harness.now.advanced(by: wait))
      harness.pass(wait)
    }
  }

  @Test func `the backend's retry-after lengthens the delay`() {
    var harness = PullHarness.begun()
    harness.fail(503, retryAfter: .seconds(3))
    #expect(harness.pull.deadline == harness.now.advanced(by: .seconds(3)))
  }

  @Test(arguments: [
    (Duration.seconds(24), true), (.seconds(24) + .nanoseconds(1), false), (.seconds(60), false),
  ])
  func `a retry-after that leaves less than the minimum time ends the pull`(
    retryAfter: Duration, waits: Bool
  ) {
    var harness = PullHarness.begun()
    harness.fail(503, retryAfter: retryAfter)
    let failure = LinkFailure.http(status: 503, retryAfter: retryAfter, detail: "")
    let over = PullReport(ending: .failed(failure), again: max(retryAfter, PullSettings.pause))
    #expect(harness.report == (waits ? nil : over))
  }

  @Test(arguments: [
    (Duration.seconds(60), Duration.seconds(60)), (.seconds(61), .seconds(61)),
    (.seconds(3_600), .seconds(3_600)), (.seconds(3_601), .seconds(3_600)),
  ])
  func `a long retry-after is passed on, limited to one hour`(retryAfter: Duration, again: Duration)
  {
    var harness = PullHarness.begun()
    harness.fail(503, retryAfter: retryAfter)
    #expect(harness.report?.again == again)
  }
}

extension PullHarness {
  /// The step in progress, whether or not its effect is still in the log.
  var newest: StepID {
    switch pull.phase {
    case .leasing(let step, _, _), .reading(let step, _), .posting(let step, _, _): step
    case .new, .pausing, .ended: StepID(0)
    }
  }
}
