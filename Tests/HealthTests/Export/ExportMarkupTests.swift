import HoldfastCore
import Testing

@testable import HoldfastHealthSamples

/// Tests of markup other than elements, and of the bytes at which it begins and ends.
@Suite struct ExportMarkupTests {
  private static let root = "<HealthData>"
  private static let one = Export.record()

  /// Returns a reader that has received a whole file at once.
  private static func reader(_ text: String) -> HealthExportReader {
    var reader = HealthExportReader()
    reader.append(text.utf8)
    reader.finish()
    return reader
  }

  private static func text(_ raw: String) -> String {
    let bytes = Array(raw.utf8)[...]
    return ExportText(bytes.span, 0..<bytes.count).text
  }

  @Test(arguments: [
    "<HealthData><!--x-->", "<HealthData><![CDATA[\(Export.record())]]>",
    "<HealthData><![CDATA[x]]>", "<!DOCTYPE HealthData []><HealthData>",
    "<!DOCTYPE HealthData><HealthData>", "<!DOCTYPE HealthData SYSTEM \"x.dtd\"><HealthData>",
  ])
  func `markup other than elements is skipped in a file that is available at once`(start: String)
    throws
  {
    var reader = Self.reader("\(start)\(Self.one)</HealthData>")
    let batch = try #require(try reader.next())
    #expect(batch.rows.map { batch[$0] } == [Export.sample()])
    #expect(reader.counts.skipped.isEmpty)
  }

  @Test(arguments: [
    "<!DOCTYPE HealthData>", "<!DOCTYPE HealthData SYSTEM \"x.dtd\">", "<!DOCTYPE HealthData [ ] >",
    "<!DOCTYPE HealthData [<!]>",
  ])
  func `a type definition of any form ends before the comment that follows it`(
    definition: String
  ) throws {
    let comment = "<!-- HealthKit Export Version: 7 -->"
    let export = try Export("\(definition)\(comment)\(Self.root)</HealthData>".utf8)
    #expect(export.counts.version == nil)
  }

  @Test(arguments: [("10000", 10_000), ("100005", 10_000), ("123456", 12_345)])
  func `no more than five digits of a version are read`(digits: String, version: Int) throws {
    let definition = "<!DOCTYPE HealthData [<!-- HealthKit Export Version: \(digits) -->]>"
    let export = try Export("\(definition)\(Self.root)</HealthData>".utf8)
    #expect(export.counts.version == version)
  }

  @Test func `a long comment in a type definition may come in pieces that end anywhere`() throws {
    let pieces = [
      "<!DOCTYPE HealthData [<!--\(String(repeating: "x", count: 255)) H",
      "ealthKit Export Version: 7", " --> ]>\(Self.root)\(Self.one)</HealthData>",
    ]
    var reader = HealthExportReader()
    for piece in pieces {
      reader.append(piece.utf8)
      #expect(try reader.next() == nil)
    }
    reader.finish()
    let batch = try #require(try reader.next())
    #expect(batch.rows.map { batch[$0] } == [Export.sample()])
    #expect(reader.counts.version == nil, "the version must be at the start of a comment")
  }

  @Test func `the version is read at the beginning of a comment of any length`() throws {
    let comment = "<!-- HealthKit Export Version: 7\(String(repeating: " ", count: 600))-->"
    let text = "<!DOCTYPE HealthData [\(comment)]>\(Self.root)</HealthData>"
    #expect(try Export(text.utf8, pieces: 300).counts.version == 7)
  }

  @Test func `a type definition that ends within a tag counts as one cut-off tag`() throws {
    let export = try Export("\(Self.root)\(Self.one)<!DOCTYPE a [<!]".utf8)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [.cutOff: 1])
  }

  @Test(
    arguments: [("<!nothin", .cutOff), ("<!nothing", .malformed)] as [(String, HealthExportSkip)])
  func `nine bytes at the end are enough to detect an invalid declaration`(
    end: String, reason: HealthExportSkip
  ) throws {
    let export = try Export("\(Self.root)\(Self.one)\(end)".utf8)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [reason: 1])
  }

  @Test func `an element directly after the start of a broken declaration is read`() throws {
    let export = try Export(body: "<!\(Self.one)")
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [.malformed: 1])
  }

  @Test func `a foreign root element does not count as skipped`() {
    var reader = Self.reader("<gpx version=\"1.1\">")
    #expect(throws: HealthExportError.foreign(element: "gpx")) { try reader.next() }
    #expect(reader.counts.skipped.isEmpty)
  }

  @Test(arguments: [(64, true), (65, false)])
  func `an attribute name has at most 64 bytes, even if a piece ends after it`(
    length: Int, isRead: Bool
  ) throws {
    let name = String(repeating: "x", count: length)
    let end = "=\"0\" value=\"1\"/>"
    let tag = Export.record(name).dropLast("/>".count)
    let start = "\(Self.root)\(tag)"
    for pieces in [start.utf8.count, 1_000] {
      let export = try Export("\(start)\(end)</HealthData>".utf8, pieces: pieces)
      #expect(export.samples == (isRead ? [Export.sample()] : []))
      #expect(export.skipped == (isRead ? [:] : [.malformed: 1]))
    }
  }

  @Test func `four bytes are enough to detect a gzip file`() {
    let start: [UInt8] = [0x1F, 0x8B, 8, 0]
    var reader = HealthExportReader()
    reader.append(start)
    #expect(throws: HealthExportError.disguised(.gzip)) { try reader.next() }
  }

  @Test func `only the first bytes of a file can show that it is not an export`() throws {
    let text = "\(Self.root)BZh9\(Self.one)</HealthData>"
    let export = try Export(text.utf8, pieces: Self.root.utf8.count)
    #expect(export.samples == [Export.sample()])
  }

  @Test func `a type definition at the beginning shows an export`() {
    let start = Array("<!DOCTYPE HealthData [".utf8)[...]
    let isExport = HealthExportReader.isExport(start.span)
    #expect(isExport)
  }

  @Test(arguments: [
    ("a&lt", "a&lt"), ("&#000000065x", "&#000000065x"), ("&#126;&#127;&#x7F;", "~&#127;&#x7F;"),
    ("&#65;&#+65;&#x+41;", "A&#+65;&#x+41;"),
  ])
  func `a reference needs a semicolon and must not denote a control character`(
    raw: String, text: String
  ) {
    #expect(Self.text(raw) == text)
  }

  @Test(arguments: [" ", "\n", "\t \r\n"])
  func `an end tag may have blanks after its name`(blank: String) throws {
    let record = Export.record().dropLast("/>".count)
    let zone = #"<MetadataEntry key="HKTimeZone" value="UTC"/>"#
    let export = try Export(
      "\(Self.root)\(record)></Record\(blank)>\(zone)</HealthData\(blank)>".utf8)
    #expect(export.samples == [Export.sample()])
    #expect(export.counts.isWhole)
  }

  @Test func `a type definition continues after an empty comment`() throws {
    let export = try Export("<!DOCTYPE HealthData [<!---->]>\(Self.root)\(Self.one)".utf8)
    #expect(export.samples == [Export.sample()])
  }

  @Test func `a version without digits is ignored`() throws {
    let definition = "<!DOCTYPE HealthData [<!-- HealthKit Export Version: x -->]>"
    let export = try Export("\(definition)\(Self.root)</HealthData>".utf8)
    #expect(export.counts.version == nil)
  }
}
