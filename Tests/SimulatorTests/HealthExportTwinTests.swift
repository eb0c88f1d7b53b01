import LinkCore
import Testing

@testable import LinkHealth
@testable import LinkSimulator

/// The second account of what is read of exports.
@Suite struct HealthExportTwinTests {
  typealias Walk = HealthExportWalk

  private static let moment = Timestamp(nanoseconds: 1_767_600_000_000_000_000)
  private static let sample = HealthSample(
    type: "t", value: .quantity(1), start: moment, end: moment, source: "s")

  private static func record(value: String) -> ExportThing {
    let more = [("type", ExportWritten("t")), ("value", ExportWritten(value))]
    return .start(
      ExportStart(name: "Record", attributes: Walk.attributes("s") + more, isEmpty: true))
  }

  /// An export of one record.
  private static var draft: ExportDraft {
    var (draft, root) = (ExportDraft(), ExportStart(name: "HealthData"))
    root.attributes = [("locale", ExportWritten("en"))]
    draft.add(.start(root), #"<HealthData locale="en">"#)
    let time = "2026-01-05 08:00:00 +0000"
    draft.add(
      record(value: "1"),
      #"<Record sourceName="s" startDate="\#(time)" endDate="\#(time)" type="t" value="1"/>"#)
    draft.add(.end("HealthData"), "</HealthData>")
    return draft
  }

  /// What is read of that.
  private static func found() throws -> Walk.Found {
    var walk = Walk(Chance(seed: 1))
    let found = walk.read(draft.bytes)
    try #require(walk.stray == nil)
    return found
  }

  @Test func `the account tells a sample and what is skipped`() {
    var root = ExportStart(name: "HealthData")
    root.attributes = [("locale", ExportWritten("en"))]
    let things: [ExportThing] = [
      .definition(version: 14), .start(root), Self.record(value: "1"), Self.record(value: "x"),
      .broken("malformed"), .start(ExportStart(name: "Audiogram")),
    ]
    let twin = ExportTwin(things)
    #expect(twin.samples == [Self.sample])
    #expect(twin.skipped == ["noValue 1", "malformed 1", "audiogram 1"])
    #expect(twin.skippedOfType == ["t": 1])
    #expect(twin.version == 14)
    #expect(twin.locale == "en")
    #expect(!twin.isWhole)
    #expect(twin.error == nil)
    #expect(ExportTwin(things + [.end("HealthData")]).isWhole)
  }

  @Test func `the account knows what is no export`() {
    #expect(ExportTwin([]).error == .empty)
    #expect(ExportTwin([.skipped(shown: 0)]).error == .empty)
    let twin = ExportTwin([.start(ExportStart(name: "gpx")), Self.record(value: "1")])
    #expect(twin.error == .foreign(element: "gpx"))
    #expect(twin.samples == [])
    #expect(twin.read == 1)
  }

  @Test func `an export that is read otherwise is found`() throws {
    let good = try Self.found()
    let changes: [(String, (inout Walk.Found) -> Void)] = [
      ("the error of", { $0.error = .empty }),
      ("a sample of", { $0.batches[0].rows[0].start = Timestamp(nanoseconds: 0) }),
      ("the number of samples of", { $0.batches = [] }),
      ("the keys of", { $0.batches[0].rows[0].key.low ^= 1 }),
      ("whether little is held of", { $0.held = 65_537 }),
      ("the lengths of stretches", { $0.batches[0].spans = [] }),
    ]
    #expect(good.batches.flatMap { batch in batch.rows.map { batch[$0] } } == [Self.sample])
    try Walk.expect(good, changes) { walk, found in
      walk.draft = Self.draft
      walk.compareFound(found)
    }
  }

  @Test func `an export that is counted otherwise is found`() throws {
    let good = try Self.found().tally
    let changes: [(String, (inout HealthExportTally) -> Void)] = [
      ("what is skipped of", { $0[.malformed] = 1 }), ("the counts of", { $0[.malformed] = -1 }),
      ("the types skipped of", { $0.skippedOfType["t"] = 1 }),
      ("the version of", { $0.version = 9 }),
      ("the locale of", { $0.locale = nil }), ("the date of", { $0.exported = Self.moment }),
      ("the end of", { $0.isWhole = false }), ("the bytes of", { $0.bytes += 1 }),
      ("the types of", { $0.samples["t"] = 2 }), ("the texts repaired of", { $0.repaired = 1 }),
    ]
    try Walk.expect(good, changes) { walk, tally in
      var found = try Self.found()
      found.tally = tally
      walk.draft = Self.draft
      walk.compareFound(found)
    }
  }

  @Test func `stretches and names of batches that are others are found`() throws {
    let good = try #require(try Self.found().batches.first)
    let digest = HealthSampleKey(high: 0, low: 0)
    let changes: [(String, (inout HealthBatch) -> Void)] = [
      ("the lengths of stretches", { $0.spans = [] }),
      ("the digests of stretches", { $0.spans = [HealthSpan(digest: digest, count: 1)] }),
      ("names told twice", { $0.names.append($0.names[0]) }),
      ("the workouts of a batch", { $0.workouts = [WorkoutValue(activity: "a")] }),
    ]
    try Walk.expect(good, changes) { $0.compareBatches([$1]) }
  }

  // Crowds.

  @Test func `names that are not forgotten are found`() throws {
    let batches = try Self.found().batches
    #expect(try Walk.finding { $0.compareForgotten(batches, [1], isFull: true) } == nil)
    #expect(
      try Walk.finds("the rows of batches") { $0.compareForgotten(batches, [2], isFull: true) })
    #expect(
      try Walk.finds("whether names are forgotten") { walk in
        walk.compareForgotten(batches, [1], isFull: false)
      })
  }

  @Test func `a crowd that is read otherwise is found`() throws {
    let good = try Self.found()
    let changes: [(String, (inout Walk.Found) -> Void)] = [
      ("the keys of a crowd", { $0.batches[0].rows[0].key.low ^= 1 }),
      ("the sizes of batches", { $0.batches.append(HealthBatch()) }),
      ("the number of samples of a crowd", { $0.tally.samples["t"] = 2 }),
      ("the samples of a crowd", { $0.batches[0].rows[0].start = Timestamp(nanoseconds: 0) }),
    ]
    try Walk.expect(good, changes) { $0.compareCrowd($1, [0], of: [Self.sample]) }
  }

  // Beginnings.

  @Test func `another error, and other words for it, are found`() throws {
    #expect(try Walk.finding { $0.compareAgain(.empty, .empty) } == nil)
    #expect(
      try Walk.finds("an error of a reader, the second time,") { $0.compareAgain(nil, .empty) })
    let words = "it is packed with gzip; unpack it with gunzip first"
    #expect(try Walk.finding { $0.compareWords(.disguised(.gzip), words, nil) } == nil)
    #expect(
      try Walk.finds("the words for an error") { $0.compareWords(.disguised(.xz), words, nil) })
    #expect(try Walk.finds("what helps") { $0.compareWords(.disguised(.gzip), words, "x") })
  }

  @Test func `a disguise that is read otherwise is found`() throws {
    let start: [UInt8] = [0x1F, 0x8B]
    func finding(_ change: (inout Walk.Found) -> Void) throws -> String? {
      try Walk.finding { walk in
        var found = walk.read(start + [0x78])
        change(&found)
        walk.compareDisguise(found, .disguised(.gzip), isLike: false, start)
      }
    }
    #expect(try finding { _ in } == nil)
    #expect(try finding { $0.error = nil }?.hasPrefix("the error of [31, 139] is ") == true)
    #expect(
      try finding { $0.tally.bytes = 1 }
        == "the bytes read of a disguise is false, and must be true")
    var within = try Self.found()
    #expect(try Walk.finding { $0.compareWithin(within) } == nil)
    within.error = .disguised(.gzip)
    #expect(
      try Walk.finds("the error of what is within an export") { $0.compareWithin(within) })
    let error = HealthExportError.disguised(.gzip)
    #expect(try Walk.finding { $0.compareFirst(.failure(error), .gzip) } == nil)
    #expect(try Walk.finds("the first four bytes") { $0.compareFirst(.success(nil), .gzip) })
  }

  @Test func `a file that is taken for an export, or not, is found`() throws {
    let start = Array("<?xml?><HealthData".utf8)
    #expect(try Walk.finding { $0.compareLook(true, start) } == nil)
    #expect(try Walk.finds("whether <?xml?><HealthData is one") { $0.compareLook(false, start) })
    let text = start.dropLast()
    #expect(
      try Walk.finds("whether <?xml?><HealthDat is one") { $0.compareLook(true, Array(text)) })
    let reasons = HealthExportSkip.allCases.map(\.text)
    #expect(try Walk.finding { $0.compareReasons(reasons) } == nil)
    #expect(
      try Walk.finds("the number of different reasons") { walk in
        walk.compareReasons(Array(reasons.dropLast()))
      })
  }
}
