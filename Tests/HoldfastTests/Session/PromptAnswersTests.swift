import HoldfastCore
import HoldfastSession
import HoldfastStorage
import HoldfastTestKit
import Testing

@testable import Holdfast

/// Tests of the failures of the store that end the wait for an answer.
@Suite struct PromptAnswersTests {
  private static let key = UUID128(high: 0, low: 1)

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
    for _ in 1...2 {
      let outcome = await answers.outcome(of: Self.key, within: nil, on: TestClock())
      #expect(throws: AnswerError(key: Self.key, .notStored(failure))) {
        try outcome.result(of: Self.key)
      }
      answers.register(Self.key)
    }
    answers.note(.notice(.storeRecovered))
    answers.register(Self.key)
    let outcome = await answers.outcome(of: Self.key, within: .zero, on: TestClock())
    #expect(throws: AnswerError(key: Self.key, .timeout)) { try outcome.result(of: Self.key) }
  }

  @Test func `a full store does not end the wait`() async {
    let answers = PromptAnswers()
    answers.register(Self.key)
    answers.note(.notice(.store(.full(detail: "no room"))))
    let outcome = await answers.outcome(of: Self.key, within: .zero, on: TestClock())
    #expect(throws: AnswerError(key: Self.key, .timeout)) { try outcome.result(of: Self.key) }
  }
}
