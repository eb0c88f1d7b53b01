/// The outcome of an assistant's questions.
struct Questions: Sendable, Hashable {
  /// How many it asked.
  var asked = 0
  /// How many got exactly one answer.
  var answeredOnce = 0
  /// How many got no answer or a refusal.
  var unanswered = 0
  /// How many got an answer that differs from the phone's data.
  var wrong = 0

  /// Counts one question with its answer and the right one.
  mutating func note(_ answer: Assistant.Answer, expecting right: Set<DaySteps>) {
    asked += 1
    switch answer {
    case .refused: unanswered += 1
    case .told(let answers):
      if answers.count == 1 { answeredOnce += 1 }
      if !answers.allSatisfy({ $0 == right }) || right.isEmpty { wrong += 1 }
    }
  }

  /// Its section of the ledger.
  var section: LedgerSection {
    LedgerSection(
      "questions",
      [
        .init("asked", asked, isGood: asked > 0),
        .init("answered once", key: "answeredOnce", answeredOnce, isGood: answeredOnce == asked),
        .init("unanswered", unanswered, isGood: unanswered == 0),
        .init("wrong", wrong, isGood: wrong == 0),
      ])
  }
}
