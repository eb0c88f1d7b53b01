import LinkJSON
import LinkWire

/// What became of an assistant's questions.
public struct Questions: Sendable, Hashable {
  /// How many it asked.
  public var asked = 0
  /// To how many it got one answer, and no second one.
  public var answeredOnce = 0
  /// To how many it got none, or a refusal.
  public var unanswered = 0
  /// To how many it was told something else than the phone's data say.
  public var wrong = 0

  /// Something was asked, and all of it was answered once and rightly.
  public var isClean: Bool {
    asked > 0 && answeredOnce == asked && [unanswered, wrong] == [0, 0]
  }

  /// Enters one question: what came, and what is right.
  mutating func note(_ answer: Assistant.Answer, expecting right: Set<DaySteps>) {
    asked += 1
    switch answer {
    case .refused: unanswered += 1
    case .told(let answers):
      if answers.count == 1 { answeredOnce += 1 }
      if !answers.allSatisfy({ $0 == right }) || right.isEmpty { wrong += 1 }
    }
  }

  /// As the ledger shows them.
  var rows: [(name: String, count: Int, isGood: Bool)] {
    [
      ("asked", asked, asked > 0), ("answered once", answeredOnce, answeredOnce == asked),
      ("unanswered", unanswered, unanswered == 0), ("wrong", wrong, wrong == 0),
    ]
  }

  /// As one JSON object.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, count) in [
      ("asked", asked), ("answeredOnce", answeredOnce), ("unanswered", unanswered),
      ("wrong", wrong),
    ] {
      writer.key(name)
      writer.int(count)
    }
    writer.endObject()
  }
}
