import LinkCore
import LinkHealth
import Testing

@testable import LinkSimulator

/// The second account of what questions and answers about health are written as.
@Suite struct HealthWordsTwinTests {
  typealias Walk = HealthWordsWalk

  private static let start = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
  private static let query = HealthDataQuery(
    valueType: .steps, start: start, end: start, groupBy: .day)
  private static let question =
    #"{"value_type":"STEPS","start_time":"1970-01-01T00:00:00Z","#
    + #""end_time":"1970-01-01T00:00:00Z","group_by":"DAY"}"#

  @Test func `the account writes and reads a question`() throws {
    #expect(HealthWordsScribe.tree(Self.query).json == Self.question)
    #expect(try HealthWordsReading.question(Array(Self.question.utf8)) == Self.query)
    let lower = Self.question.replacing("STEPS", with: "Steps").replacing("DAY", with: "day")
    #expect(try HealthWordsReading.question(Array(lower.utf8)) == Self.query)
  }

  @Test(arguments: [
    ("STEPS", "", "value_type is missing"),
    ("1970-01-01T", "1970-13-01T", "start_time is no ISO 8601 date"),
    (#""DAY""#, "1", "group_by is of another type"),
    ("DAY", "YEAR", "group_by must be one of HOUR, DAY, WEEK, MONTH, TOTAL"),
    (#""group_by""#, #""max_bytes":1999,"x""#, "max_bytes is out of bounds"),
  ])
  func `the account names what is wrong with a question`(
    good: String, bad: String, words: String
  ) {
    let bytes = Array(Self.question.replacing(good, with: bad).utf8)
    do {
      _ = try HealthWordsReading.question(bytes)
      Issue.record("it is read")
    } catch {
      #expect("\(error)" == words)
    }
  }

  @Test func `the account reads times, and knows why a text is none`() {
    let day = Int64(86_400_000_000_000)
    #expect(HealthWordsTimes.time("1970-01-02") == .local(CivilTime(nanoseconds: day)))
    #expect(
      HealthWordsTimes.time("1970-01-01T01:00+01:00")
        == .instant(Timestamp(nanoseconds: 0), minutesEast: 60))
    let texts = ["1970-02-30", "yesterday", "9999-12-31"]
    #expect(texts.map { HealthWordsTimes.time($0) } == [nil, nil, nil])
    #expect(texts.map(HealthWordsTimes.fault) == [.noSuchDate, .otherForm, .outOfRange])
  }

  // Questions.

  @Test func `a question that is written or read otherwise is found`() throws {
    let (question, tree) = (
      HealthQuestion.healthData(Self.query), HealthWordsScribe.tree(Self.query)
    )
    #expect(try Walk.finding { $0.compareQuestion(question, .healthData, tree) } == nil)
    #expect(try Walk.finds("a question") { $0.compareQuestion(question, .healthData, .null) })
    #expect(try Walk.finds("a question's kind") { $0.compareQuestion(question, .summary, tree) })
    func isFound(_ question: HealthDataQuery, _ text: String) throws -> Bool {
      try Walk.finds("\(text), read as a question,") { walk in
        walk.compareQuestion(.success(.healthData(question)), .healthData, Array(text.utf8))
      }
    }
    #expect(try !isFound(Self.query, Self.question))
    #expect(try isFound(Self.query, "{}"))
    var other = Self.query
    other.statistic = .sum
    #expect(try isFound(other, Self.question))
    let summary = SummaryQuery(start: Self.start, end: Self.start)
    let text = HealthWordsScribe.tree(summary).json
    #expect(
      try Walk.finds("\(text), read as a question,") { walk in
        walk.compareQuestion(.success(question), .summary, Array(text.utf8))
      })
  }

  // Answers.

  @Test func `an answer that is written otherwise is found`() throws {
    let blanks = try #require(HealthWordsBlanks())
    let (object, tree) = (blanks.reply.object, HealthWordsScribe.tree(blanks.reply))
    #expect(try Walk.finding { $0.compareObject(object, tree, succeeded: true) } == nil)
    #expect(try Walk.finds("an answer") { $0.compareObject(object, .null, succeeded: true) })
    let text = Walk.text(object.bytes)
    #expect(
      try Walk.finds("whether \(text) succeeded") { walk in
        walk.compareObject(object, tree, succeeded: false)
      })
    let (point, length) = (blanks.point, HealthWordsScribe.tree(blanks.point).json.utf8.count)
    #expect(try Walk.finding { $0.compareLength(length, of: point) } == nil)
    #expect(try Walk.finding { $0.compareLength(length + 1, of: point) } != nil)
  }

  @Test func `an answer or a summary that is read otherwise is found`() throws {
    let blanks = try #require(HealthWordsBlanks())
    var (reply, summary) = (blanks.reply, blanks.summary)
    let (bytes, all, none) = (reply.object.bytes, summary.object.bytes, Array("{}".utf8))
    func isReplyFound() throws -> Bool {
      try Walk.finds("\(Walk.text(bytes)), read as an answer,") { walk in
        walk.compareReply(.success(reply), bytes)
      }
    }
    reply = try HealthReply.read(bytes)
    #expect(try !isReplyFound())
    reply.skipped += 1
    #expect(try isReplyFound())
    func isSummaryFound() throws -> Bool {
      try Walk.finds("\(Walk.text(all)), read as a summary,") { walk in
        walk.compareSummary(.success(summary), all)
      }
    }
    summary = try SummaryReply.read(all)
    #expect(try !isSummaryFound())
    summary.results = []
    #expect(try isSummaryFound())
    #expect(try Walk.finds("{}, read as an answer,") { $0.compareReply(.success(reply), none) })
    #expect(
      try Walk.finds("{}, read as a summary,") { $0.compareSummary(.success(summary), none) })
  }

  @Test func `an object without an answer that is another one is found`() throws {
    let (good, reason) = (HealthObject.failure("no"), "no")
    #expect(good.bytes == Array(#"{"success":false,"error_message":"no"}"#.utf8))
    #expect(try Walk.finding { $0.compareFailure(good, reason, of: reason) } == nil)
    let other = HealthObject.failure("na")
    #expect(
      try Walk.finds("an object without an answer") { walk in
        walk.compareFailure(other, reason, of: reason)
      })
    #expect(try Walk.finds("the reason no") { $0.compareFailure(good, nil, of: reason) })
    let descriptions = ["error of 3 bytes", "answer of 3 bytes"]
    #expect(try Walk.finding { $0.compareDescriptions(descriptions, of: 3) } == nil)
    #expect(try Walk.finds("descriptions") { $0.compareDescriptions(descriptions, of: 4) })
    let text = Walk.text(good.bytes)
    #expect(try Walk.finding { $0.compareObject(.success(good), reason, good.bytes) } == nil)
    #expect(
      try Walk.finds("the reason in \(text)") { walk in
        walk.compareObject(.success(good), nil, good.bytes)
      })
    #expect(
      try Walk.finds("\(text), read as an object,") { walk in
        walk.compareObject(.success(other), reason, good.bytes)
      })
  }

  // Times, and what nothing changes.

  @Test func `other bounds and other blanks are found`() throws {
    let (most, lengths) = (8_388_608, 2_000...8_388_608)
    #expect(try Walk.finding { $0.compareBounds(most, lengths, 64) } == nil)
    #expect(try Walk.finds("the longest object") { $0.compareBounds(most + 1, lengths, 64) })
    #expect(try Walk.finds("the lengths to ask for") { $0.compareBounds(most, 0...9, 64) })
    #expect(try Walk.finds("the most metrics") { $0.compareBounds(most, lengths, 65) })
    #expect(try Walk.finding { $0.compareCounts([0, 0, 0]) } == nil)
    #expect(try Walk.finds("blank counts") { $0.compareCounts([0, 1, 0]) })
    let long = String(of: "a", count: 1_001)
    let short = String(of: "a", count: 1_000)
    #expect(try Walk.finding { $0.compareBeginning(short, of: long) } == nil)
    #expect(try Walk.finds("the beginning of a text") { $0.compareBeginning(long, of: long) })
  }

  @Test func `a time that is written or read otherwise is found`() throws {
    let (time, text) = (Self.start, "1970-01-01T00:00:00Z")
    #expect(try Walk.finding { $0.compareTime(time, text, time) } == nil)
    #expect(try Walk.finds("a time") { $0.compareTime(time, "1970-01-01T00:00Z", time) })
    #expect(try Walk.finds("\(time), read again,") { $0.compareTime(time, text, nil) })
    let civil = CivilTime(nanoseconds: 0)
    #expect(try Walk.finding { $0.compareCivil("1970-01-01T00:00:00", of: civil) } == nil)
    #expect(try Walk.finds("a time of day") { $0.compareCivil(text, of: civil) })
    #expect(try Walk.finding { $0.compareReading([time, time], time, of: text) } == nil)
    for found in [[nil, time], [time, nil]] {
      #expect(try Walk.finds("\(text), read,") { $0.compareReading(found, time, of: text) })
    }
    #expect(try Walk.finding { $0.compareFault(.otherForm, of: "x") } == nil)
    #expect(try Walk.finds("why x is no time") { $0.compareFault(.noSuchDate, of: "x") })
  }
}
