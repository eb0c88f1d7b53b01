import LinkCore
import LinkHealth
import LinkJSON

/// What an assistant and a phone can ask and answer, in forms that neither writes too.
struct HealthWordsWalk: RelayWireForms {
  var chance: Chance
  var stray: String?
  let blanks: HealthWordsBlanks
  private let reading: HealthWordsReading

  init?(_ chance: Chance) {
    guard let blanks = HealthWordsBlanks() else { return nil }
    (self.chance, self.blanks) = (chance, blanks)
    reading = HealthWordsReading(blanks: blanks)
  }

  /// Tries so many questions, answers and times; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryQuestion()
      trySummaryQuestion()
      tryReply()
      trySummary()
      tryObject()
      for _ in 0..<4 { tryTime() }
      for text in Self.wrongTimes { readTime(text) }
    }
    if happens(4) { tryBlanks() }
    return stray
  }

  // Questions.

  private mutating func tryQuestion() {
    let query = query()
    let tree = HealthWordsScribe.tree(query)
    compareQuestion(.healthData(query), .healthData, tree)
    for bytes in forms(tree, 6) { read(.healthData, bytes) }
  }

  private mutating func trySummaryQuestion() {
    let query = summaryQuery()
    let tree = HealthWordsScribe.tree(query)
    compareQuestion(.summary(query), .summary, tree)
    for bytes in forms(tree, 5) + [rejects(tree)] { read(.summary, bytes) }
  }

  /// Compares what is written of a question, and its kind.
  mutating func compareQuestion(
    _ question: HealthQuestion, _ kind: HealthQuestion.Kind, _ tree: SessionTree
  ) {
    compare("a question", Self.text(question.payload), tree.json)
    compare("a question's kind", question.kind, kind)
  }

  private mutating func read(_ kind: HealthQuestion.Kind, _ bytes: [UInt8]) {
    let found = Result { () throws(FieldFault) in
      try HealthQuestion.read(kind, payload: bytes)
    }
    compareQuestion(found, kind, bytes)
  }

  /// Compares what is read of a question.
  mutating func compareQuestion(
    _ found: Result<HealthQuestion, FieldFault>, _ kind: HealthQuestion.Kind, _ bytes: [UInt8]
  ) {
    let must = Result { () throws(FieldFault) -> HealthQuestion in
      switch kind {
      case .healthData: .healthData(try HealthWordsReading.question(bytes))
      case .summary: .summary(try HealthWordsReading.summary(bytes))
      }
    }
    compare("\(Self.text(bytes)), read as a question,", found, must)
  }

  // Answers.

  private mutating func tryReply() {
    let reply = reply()
    let tree = HealthWordsScribe.tree(reply)
    compareObject(reply.object, tree, succeeded: true)
    for point in reply.points { compareLength(point.length, of: point) }
    for bytes in forms(tree, 8) + atBounds() {
      compareReply(Result { () throws(FieldFault) in try HealthReply.read(bytes) }, bytes)
    }
  }

  /// Compares what is written of an answer or a summary.
  mutating func compareObject(_ object: HealthObject, _ tree: SessionTree, succeeded: Bool) {
    compare("an answer", Self.text(object.bytes), tree.json)
    compare("whether \(Self.text(object.bytes)) succeeded", object.succeeded, succeeded)
  }

  mutating func compareLength(_ length: Int, of point: HealthPoint) {
    let text = HealthWordsScribe.tree(point).json
    compare("the length of \(text)", length, text.utf8.count)
  }

  mutating func compareReply(_ found: Result<HealthReply, FieldFault>, _ bytes: [UInt8]) {
    let must = Result { () throws(FieldFault) in try reading.reply(bytes) }
    compare("\(Self.text(bytes)), read as an answer,", found, must)
  }

  private mutating func trySummary() {
    let reply = summaryReply()
    let tree = HealthWordsScribe.tree(reply)
    let isWhole = reply.results.allSatisfy { $0.data.succeeded }
    compareObject(reply.object, tree, succeeded: isWhole)
    for bytes in forms(tree, 5) + [withOddResults(tree)] {
      compareSummary(Result { () throws(FieldFault) in try SummaryReply.read(bytes) }, bytes)
    }
  }

  mutating func compareSummary(_ found: Result<SummaryReply, FieldFault>, _ bytes: [UInt8]) {
    let must = Result { () throws(FieldFault) in try reading.summary(bytes) }
    compare("\(Self.text(bytes)), read as a summary,", found, must)
  }

  private mutating func tryObject() {
    let reason = one(Self.reasons)
    let failure = HealthObject.failure(reason)
    compareFailure(failure, failure.reason, of: reason)
    let answer = HealthObject(succeeded: true, bytes: failure.bytes)
    compareDescriptions([failure.description, answer.description], of: failure.bytes.count)
    guard let tree = SessionTree(failure.bytes) else { return }
    for bytes in forms(tree, 4) {
      let object = HealthObject(succeeded: false, bytes: bytes)
      let found = Result { () throws(FieldFault) in try HealthObject(reading: bytes) }
      compareObject(found, object.reason, bytes)
    }
  }

  /// Compares an object without an answer, and the reason that is read of it.
  mutating func compareFailure(_ found: HealthObject, _ told: String?, of reason: String) {
    compare("an object without an answer", found, HealthWordsScribe.failure(reason))
    compare("the reason \(reason)", told, HealthWordsFields.short(reason))
  }

  mutating func compareDescriptions(_ found: [String], of count: Int) {
    compare("descriptions", found, ["error of \(count) bytes", "answer of \(count) bytes"])
  }

  /// Compares what is read of an object, and the reason in it.
  mutating func compareObject(
    _ found: Result<HealthObject, FieldFault>, _ reason: String?, _ bytes: [UInt8]
  ) {
    compare("the reason in \(Self.text(bytes))", reason, HealthWordsReading.reason(bytes))
    let must = Result { () throws(FieldFault) in
      guard let succeeded = try HealthWordsFields(whole: bytes).plain.flag("success") else {
        throw .missing(field: "success")
      }
      return HealthObject(succeeded: succeeded, bytes: bytes)
    }
    compare("\(Self.text(bytes)), read as an object,", found, must)
  }
}
