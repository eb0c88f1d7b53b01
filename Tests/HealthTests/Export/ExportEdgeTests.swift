import HoldfastCore
import Testing

@testable import HoldfastHealthSamples

/// Tests of values at the limits for exports and just beyond them.
@Suite struct ExportEdgeTests {
  private func number(_ text: String) -> Double? {
    let bytes = Array(text.utf8)[...]
    return ExportNumber.read(bytes.span, 0..<bytes.count)
  }

  private func date(_ text: String) -> Timestamp? {
    let bytes = Array(text.utf8)[...]
    var time = ExportTime()
    return time.read(bytes.span, 0..<bytes.count)
  }

  @Test func `a number has at most 400 characters`() {
    func ones(_ length: Int) -> String { "0." + String(repeating: "1", count: length - 2) }
    #expect(number(ones(400)) == 1.0 / 9)
    #expect(number(ones(401)) == nil)
  }

  @Test func `a date with trailing blanks has at most 40 characters`() {
    let dates = [0, 15, 16, 25].map { count in
      date("2017-11-07 10:05:13 +0200" + String(repeating: " ", count: count))
    }
    let moment = Timestamp(nanoseconds: 1_510_041_913_000_000_000)
    #expect(dates == [moment, moment, nil, nil])
  }

  @Test
  func `a reference to a blank is resolved, and a reference to a control byte is kept as text`() {
    let bytes = Array("a&#32;b&#31;&#x20;&#x1F;".utf8)[...]
    #expect(ExportText(bytes.span, 0..<bytes.count).text == "a b&#31; &#x1F;")
  }

  @Test func `two bytes at the end that do not begin a tag count as malformed, not as cut off`()
    throws
  {
    let export = try Export("<HealthData>\(Export.record())< ".utf8)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [.malformed: 1])
  }

  @Test(arguments: ["<gpx>", "<gpx/>", "<gpx version=\"1.1\">"])
  func `a foreign root element is reported with its whole name`(_ text: String) {
    #expect(throws: HealthExportError.foreign(element: "gpx")) { try Export(text.utf8) }
  }

  @Test func `the first declaration of a type definition does not end it`() throws {
    let definition = "<!DOCTYPE HealthData [<!ENTITY a 'x'><!ENTITY b 'y'>]>"
    let export = try Export("\(definition)<HealthData>\(Export.record())</HealthData>".utf8)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [:])
  }

  @Test func `a root element of four bytes is detected after an unterminated type definition`() {
    #expect(throws: HealthExportError.foreign(element: "a")) {
      try Export("<!DOCTYPE HealthData [<a/>".utf8)
    }
  }

  @Test func `a name that begins and ends like a known name but is longer is unknown`() throws {
    // The known name is `WorkoutEvent`.
    let elements = (0..<40).map { length in
      "<WorkoutE" + String(repeating: "x", count: length) + "outEvent/>"
    }
    let export = try Export(body: elements.joined())
    #expect(export.skipped == [.unknown: 40])
  }

  @Test func `the version comes from the first comment that contains one`() throws {
    let comments = "<!-- HealthKit Export Version: 7 --><!-- HealthKit Export Version: 8 -->"
    let export = try Export("<!DOCTYPE HealthData [\(comments)]><HealthData></HealthData>".utf8)
    #expect(export.counts.version == 7)
  }

  @Test func `a number without a number sign is not a character reference`() {
    let bytes = Array("a&165;b&ax41;".utf8)[...]
    #expect(ExportText(bytes.span, 0..<bytes.count).text == "a&165;b&ax41;")
  }

  @Test(arguments: [62, 63, 64, 100])
  func `the reported name of a foreign root element is cut to 63 bytes`(length: Int) {
    let name = String(repeating: "x", count: length)
    #expect(throws: HealthExportError.foreign(element: String(name.prefix(63)))) {
      try Export("<\(name)>".utf8)
    }
  }

  @Test func `attribute names that contain spaces are read in full`() throws {
    let energy = "total energy burned=\"12\" total energy burned unit=\"kcal\""
    let dates = "start date=\"20260105080000+0000\" end date=\"20260105083000+0000\""
    let names = "workout activity type=\"a\" source name=\"s\""
    let export = try Export(body: "<Workout \(names) \(energy) \(dates)/>")
    #expect(export.samples.map(\.value) == [.workout(WorkoutValue(activity: "a", energy: 12))])
  }
}
