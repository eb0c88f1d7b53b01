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
      for text in Self.wrongTimes { read(text) }
    }
    if happens(4) { tryBlanks() }
    return stray
  }

  // Questions.

  private mutating func tryQuestion() {
    let query = query()
    let tree = HealthWordsScribe.tree(query)
    compare(.healthData(query), .healthData, tree, forms(tree, 6))
  }

  private mutating func trySummaryQuestion() {
    let query = summaryQuery()
    let tree = HealthWordsScribe.tree(query)
    compare(.summary(query), .summary, tree, forms(tree, 5) + [rejects(tree)])
  }

  private mutating func compare(
    _ question: HealthQuestion, _ kind: HealthQuestion.Kind, _ tree: SessionTree,
    _ all: [[UInt8]]
  ) {
    compare("a question", Self.text(question.payload), tree.json)
    compare("a question's kind", question.kind, kind)
    for bytes in all {
      let found = Result { () throws(FieldFault) in
        try HealthQuestion.read(kind, payload: bytes)
      }
      let must = Result { () throws(FieldFault) -> HealthQuestion in
        switch kind {
        case .healthData: .healthData(try HealthWordsReading.question(bytes))
        case .summary: .summary(try HealthWordsReading.summary(bytes))
        }
      }
      compare("\(Self.text(bytes)), read as a question,", found, must)
    }
  }

  // Answers.

  private mutating func tryReply() {
    let reply = reply()
    let (object, tree) = (reply.object, HealthWordsScribe.tree(reply))
    compare("an answer", Self.text(object.bytes), tree.json)
    compare("whether \(Self.text(object.bytes)) succeeded", object.succeeded, true)
    for point in reply.points {
      let text = HealthWordsScribe.tree(point).json
      compare("the length of \(text)", point.length, text.utf8.count)
    }
    for bytes in forms(tree, 8) + atBounds() {
      let found = Result { () throws(FieldFault) in try HealthReply.read(bytes) }
      let must = Result { () throws(FieldFault) in try reading.reply(bytes) }
      compare("\(Self.text(bytes)), read as an answer,", found, must)
    }
  }

  private mutating func trySummary() {
    let reply = summaryReply()
    let (object, tree) = (reply.object, HealthWordsScribe.tree(reply))
    compare("a summary", Self.text(object.bytes), tree.json)
    let isWhole = reply.results.allSatisfy { $0.data.succeeded }
    compare("whether \(Self.text(object.bytes)) succeeded", object.succeeded, isWhole)
    for bytes in forms(tree, 5) + [withOddResults(tree)] {
      let found = Result { () throws(FieldFault) in try SummaryReply.read(bytes) }
      let must = Result { () throws(FieldFault) in try reading.summary(bytes) }
      compare("\(Self.text(bytes)), read as a summary,", found, must)
    }
  }

  private mutating func tryObject() {
    let reason = one(Self.reasons)
    let failure = HealthObject.failure(reason)
    compare("an object without an answer", failure, HealthWordsScribe.failure(reason))
    compare("the reason \(reason)", failure.reason, HealthWordsFields.short(reason))
    let count = failure.bytes.count
    compare("the description", failure.description, "error of \(count) bytes")
    let answer = HealthObject(succeeded: true, bytes: failure.bytes)
    compare("the description", answer.description, "answer of \(count) bytes")
    guard let tree = SessionTree(failure.bytes) else { return }
    for bytes in forms(tree, 4) {
      let object = HealthObject(succeeded: false, bytes: bytes)
      compare("the reason in \(object)", object.reason, HealthWordsReading.reason(bytes))
      let found = Result { () throws(FieldFault) in try HealthObject(reading: bytes) }
      let must = Result { () throws(FieldFault) in
        guard let succeeded = try HealthWordsFields(whole: bytes).plain.flag("success") else {
          throw .missing(field: "success")
        }
        return HealthObject(succeeded: succeeded, bytes: bytes)
      }
      compare("\(Self.text(bytes)), read as an object,", found, must)
    }
  }

  /// Compares what nothing says with what must be.
  private mutating func tryBlanks() {
    compare("the longest object", HealthObject.maxBytes, 8_388_608)
    compare("the lengths to ask for", HealthDataQuery.byteBounds, 2_000...8_388_608)
    compare("the most metrics", SummaryQuery.maxMetrics, 64)
    let counts = [blanks.sleep.nights, blanks.sleep.naps, blanks.workout.sessions]
    compare("blank counts", counts, [0, 0, 0])
    for text in ["a", String(of: "a", count: 1_001), String(repeating: "é", count: 501)] {
      compare("the beginning of a text", text.bounded, HealthWordsFields.short(text))
    }
  }

  // Times.

  private mutating func tryTime() {
    let text = timeText()
    read(text)
    var letters = Array(happens(3) ? one(Self.edges) : text)
    read(String(letters))
    let place = number(0...letters.count - 1)
    switch number(0...3) {
    case 0: letters[place] = one(Array("0123456789:-+TZ./x "))
    case 1: letters.remove(at: place)
    case 2: letters.insert(one(Array("0159:- Z")), at: place)
    case _: letters = Array(letters[..<place])
    }
    read(String(letters))
    let time = time()
    compare("a time", time.description, HealthWordsTimes.text(time))
    compare("\(time), read again,", HealthTime(time.description), time)
    if case .local(let civil) = time {
      compare("a time of day", civil.description, HealthWordsTimes.text(civil))
    }
  }

  private mutating func read(_ text: String) {
    let must = HealthWordsTimes.time(text)
    compare("\(text), read,", HealthTime(text), must)
    let bytes = Array("[\(text)]".utf8).dropFirst().dropLast()
    compare("\(text), read from bytes,", HealthTime(utf8: bytes), HealthTime(text))
    guard must == nil else { return }
    compare("why \(text) is no time", HealthTime.Fault(text), HealthWordsTimes.fault(text))
  }
}
