import HoldfastCore
import HoldfastSession
import HoldfastTestKit
import Testing

@testable import Holdfast

/// Tests of the failures and the time limits that end the wait for an answer.
@Suite struct PromptAnswersTests {
  private static let key = UUID128(high: 0, low: 1)
  private static let failed = LinkStatus(phase: .failed, reason: .failure(.refused))

  /// The error of a prompt whose time limit passed.
  private static func late(_ reason: LinkStatus.Reason? = nil) -> AnswerError {
    AnswerError(key: key, .timeout(after: .zero, reason))
  }

  @Test(arguments: [
    StoreFailure.corrupt(detail: "no database"), .fromTheFuture(found: 2, supported: 1),
  ])
  func `a store that can never be used ends the wait, until it works again`(
    failure: StoreFailure
  ) async {
    let answers = PromptAnswers()
    answers.register(Self.key)
    answers.note(.notice(.store(failure)))
    // A status does not cure the store.
    answers.note(.status(LinkStatus(phase: .connected)))
    for round in 1...2 {
      if round == 2 { answers.register(Self.key) }
      let outcome = await answers.outcome(of: Self.key, within: nil, on: TestClock())
      #expect(throws: AnswerError(key: Self.key, .notStored(failure))) {
        try outcome.result(of: Self.key)
      }
    }
    answers.note(.notice(.storeRecovered))
    answers.register(Self.key)
    let outcome = await answers.outcome(of: Self.key, within: .zero, on: TestClock())
    #expect(throws: Self.late()) { try outcome.result(of: Self.key) }
  }

  @Test func `a full store does not end the wait`() async {
    let answers = PromptAnswers()
    answers.register(Self.key)
    answers.note(.notice(.store(.full(detail: "no room"))))
    let outcome = await answers.outcome(of: Self.key, within: .zero, on: TestClock())
    #expect(throws: Self.late()) { try outcome.result(of: Self.key) }
  }

  @Test func `a time limit that passes says why there was no connection`() async {
    let answers = PromptAnswers()
    answers.register(Self.key)
    answers.note(.status(LinkStatus(phase: .reconnecting, attempt: 2, reason: .failure(.refused))))
    let outcome = await answers.outcome(of: Self.key, within: .zero, on: TestClock())
    #expect(throws: Self.late(.failure(.refused))) { try outcome.result(of: Self.key) }
    #expect(
      AnswerError(key: Self.key, .timeout(after: .seconds(30), .failure(.refused))).description
        == "there was no answer within 30s: the connection was refused; the prompt stays in the "
        + "outbox")
  }

  @Test func `a status from before a restart does not end the wait`() async {
    let answers = PromptAnswers()
    answers.note(.status(Self.failed))
    answers.beginRestart()
    answers.register(Self.key)
    answers.note(.status(Self.failed))
    answers.note(.status(LinkStatus(phase: .connecting)))
    answers.endRestart()
    let outcome = await answers.outcome(of: Self.key, within: .zero, on: TestClock())
    #expect(throws: Self.late()) { try outcome.result(of: Self.key) }
  }

  @Test func `a restart that changes nothing ends the wait`() async {
    let answers = PromptAnswers()
    answers.note(.status(Self.failed))
    answers.beginRestart()
    answers.register(Self.key)
    answers.endRestart()
    let outcome = await answers.outcome(of: Self.key, within: nil, on: TestClock())
    #expect(throws: AnswerError(key: Self.key, .ended(.refused, isQueued: true))) {
      try outcome.result(of: Self.key)
    }
  }
}
