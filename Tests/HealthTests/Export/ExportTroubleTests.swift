import HoldfastCore
import HoldfastHealthSamples
import Testing

/// Tests of the defects of real exports, and of the samples that can be read in spite of them.
@Suite struct ExportTroubleTests {
  private static let root = "<HealthData locale=\"en_US\">"
  private static let one = Export.record()

  @Test(arguments: [
    // iOS 16 does not close a declaration and writes stray lines.
    """
    <!DOCTYPE HealthData [
    <!-- HealthKit Export Version: 12 -->
    <!ELEMENT VisionPrescription ((RightEye)*, Attachment*)>
    <!ATTLIST VisionPrescription
      type CDATA #REQUIRED
      device           CDATA #IMPLIED
    <!ELEMENT RightEye EMPTY>
    identifier    CDATA #IMPLIED
    >
    ]>
    """,
    "<!DOCTYPE HealthData [\n<!-- HealthKit Export Version: 12 -->\n<!ATTLIST Record a CDATA\n",
    "<!DOCTYPE HealthData [ <!-- ]> <HealthData> --> <!-- HealthKit Export Version: 12 --> ] >",
    "<!DOCTYPE HealthData [ <!-- HealthKit Export Version: 12 --> <!ENTITY a 'x'> ]>",
  ])
  func `a type definition is skipped, whole or broken`(_ definition: String) throws {
    let text = "<?xml version=\"1.0\"?>\n\(definition)\n\(Self.root)\(Self.one)</HealthData>"
    for size in [1, 5, 1_000] {
      let export = try Export(text.utf8, pieces: size)
      #expect(export.samples == [Export.sample()])
      #expect(export.counts.version == 12)
      #expect(export.counts.locale == "en_US")
      #expect(export.skipped == [:])
    }
  }

  @Test func `a type definition without a subset, comments and CDATA sections are skipped`() throws
  {
    let text = """
      \u{FEFF}<!DOCTYPE HealthData SYSTEM "x.dtd"><!-- <Record/> -->\(Self.root)\
      <![CDATA[ <Record type="no"/> ]]><?pi <Record?>\(Self.one)<!-- - -- ></HealthData>-->\
      </HealthData>
      """
    let export = try Export(text.utf8, pieces: 3)
    #expect(export.samples == [Export.sample()])
    #expect(export.counts.isWhole)
  }

  @Test func `a comment, a processing instruction and a CDATA section may be empty`() throws {
    let export = try Export(body: "<!----><??><![CDATA[]]>" + Self.one)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [:])
  }

  @Test func `a comment after the type definition does not set the version`() throws {
    let export = try Export(
      "<!DOCTYPE HealthData []><!-- HealthKit Export Version: 7 -->\(Self.root)</HealthData>".utf8)
    #expect(export.counts.version == nil)
  }

  @Test(arguments: [(65_535, true), (65_536, true), (65_537, false)])
  func `the reader waits up to 64 KiB for the end of a tag`(length: Int, isRead: Bool) throws {
    let name = "</HealthData"
    let start = Array((Self.root + Self.one).utf8)
    let tag = Array((name + String(repeating: " ", count: length - name.utf8.count)).utf8)
    let end = Array(">".utf8)
    var reader = HealthExportReader()
    for piece in [start, tag, end] {
      reader.append(piece)
      #expect(try reader.next() == nil)
    }
    reader.finish()
    let batch = try #require(try reader.next())
    #expect(batch.rows.map { batch[$0] } == [Export.sample()])
    #expect(reader.counts.skipped.map(\.count) == (isRead ? [] : [1]))
  }

  @Test func `the reader waits up to 256 bytes for the end of a comment in a type definition`()
    throws
  {
    let head = "<!DOCTYPE HealthData ["
    let start = Array((head + "<!--" + String(repeating: "x", count: 252)).utf8)
    var reader = HealthExportReader()
    reader.append(start)
    let first = try reader.next()
    #expect(reader.counts.bytes == head.utf8.count)
    let more: [UInt8] = [UInt8(ascii: "x")]
    reader.append(more)
    let second = try reader.next()
    // The last two bytes may be the beginning of the comment's end.
    #expect(reader.counts.bytes == head.utf8.count + 255)
    #expect([first, second] == [nil, nil])
  }

  @Test func `control bytes and broken UTF-8 are repaired and counted`() throws {
    let text = Array(
      "\(Self.root)<Record type=\"t\" sourceName=\"A\u{0B}p\u{7F}p&#11;X\" value=\"1\" ".utf8)
    let rest = Array(
      "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\"/>".utf8)
    let export = try Export(
      text + Array("device=\"".utf8) + [0xFF, 0x41] + Array("\" ".utf8) + rest)
    #expect(export.samples.map(\.source) == ["App&#11;X"])
    #expect(export.samples.map(\.device) == ["\u{FFFD}A"])
    #expect(export.counts.repaired == 2)
    #expect(!export.counts.isWhole)
  }

  @Test func `references are resolved, and invalid ones are kept as text`() throws {
    let names = [
      "&lt;&gt;&amp;&quot;&apos;": "<>&\"'", "&#65;&#x42;&#x1F600;": "AB😀",
      "&nope; & &#xD800; &#; &amp": "&nope; & &#xD800; &#; &amp", "a>b": "a>b", "a<b": "a<b",
      "&#000000065;": "A", "&#0000000065;": "&#0000000065;",
    ]
    for (raw, text) in names.sorted(by: { $0.key < $1.key }) {
      let export = try Export(body: Export.record("unit=\"\(raw)\" value=\"1\""))
      #expect(export.samples.map(\.unit) == [text])
    }
  }

  @Test func `an export of iOS 8 is read, with blanks in names and none in dates`() throws {
    let export = try Export(
      body: """
        <Record type="HKQuantityTypeIdentifierStepCount" source name="Phone" unit="count" \
        start date="20260105080000+0100" end Date="20260105081000+0100" value="1"/>
        <Record type="HKQuantityTypeIdentifierStepCount" source="Phone" unit="count" \
        startDate = "20260105080000+0100" endDate= '20260105081000+0100' value="1" min="0"/>
        """)
    let sample = Export.sample(unit: "count")
    #expect(export.samples == [sample, sample])
    #expect(export.skipped == [:])
  }

  @Test func `each element that is not a sample is counted with its reason`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\""
    let cases: [(String, [HealthExportSkip: Int])] = [
      ("<Record sourceName=\"s\" value=\"1\" \(dates)/>", [.noType: 1]),
      ("<Record type=\"\" sourceName=\"s\" value=\"1\" \(dates)/>", [.noType: 1]),
      ("<Record type=\"t\" value=\"1\" \(dates)/>", [.noType: 1]),
      ("<Workout sourceName=\"s\" \(dates)/>", [.noType: 1]),
      ("<Record type=\"t\" sourceName=\"s\" value=\"1\"/>", [.noDate: 1]),
      ("<Record type=\"t\" sourceName=\"s\" \(dates)/>", [.noValue: 1]),
      ("<Record type=\"t\" sourceName=\"s\" \(dates) value=\"one\"/>", [.noValue: 1]),
      (
        Export.record("value=\"1\" endDate=\"2026-01-05 07:59:59 +0100\""), [.endsEarly: 1]
      ),
      ("<Record type=\"t\" sourceName=\"s\" \(dates) value=\"1\"\"/>", [.malformed: 1]),
      ("<Record type=t sourceName=\"s\"/>", [.malformed: 1]),
      ("< >", [.malformed: 1]), ("<!nothing at all>", [.malformed: 1]),
      ("<Me/><ActivitySummary/><ActivitySummary/>", [.activitySummary: 2]),
      (
        "<ClinicalRecord/><Audiogram><SensitivityPoint/></Audiogram>",
        [
          .clinicalRecord: 1, .audiogram: 1,
        ]
      ),
      (
        "<VisionPrescription><RightEye/></VisionPrescription><Thing/>",
        [
          .prescription: 1, .unknown: 1,
        ]
      ),
      ("<WorkoutRoute><Location/></WorkoutRoute>", [.route: 2]),
    ]
    for (text, skipped) in cases {
      let export = try Export(body: text + Self.one)
      #expect(export.samples == [Export.sample()], "\(text)")
      #expect(export.skipped == skipped, "\(text)")
    }
    for reason in HealthExportSkip.allCases { #expect(!reason.text.isEmpty) }
  }

  @Test func `a workout with an empty activity is skipped as having no type`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\""
    let workout = "<Workout workoutActivityType=\"\" sourceName=\"s\" \(dates)/>"
    let export = try Export(body: workout + Self.one)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [.noType: 1])
  }

  @Test func `a name with the prefix and length of a known name is unknown`() throws {
    let body = """
      \(Export.record("value=\"1\" sourceNamX=\"other\" startDatX=\"x\""))\
      <WorkoutStatisticX/><ActivitySummarX/><WorkoutEvenX/>
      """
    let export = try Export(body: body)
    #expect(export.samples == [Export.sample()])
    #expect(export.skipped == [.unknown: 3])
  }

  @Test func `a zone after the end of a record does not belong to that record`() throws {
    let zone = "<MetadataEntry key=\"HKTimeZone\" value=\"UTC\"/>"
    let export = try Export(
      body: "<Correlation type=\"c\">\(Self.one)\(zone)\(Export.record(body: ""))\(zone)")
    #expect(export.samples.map(\.zone) == [nil, nil])
  }

  @Test func `skipped records are counted by type if they have one`() throws {
    let date = "startDate=\"2026-01-05 08:00:00 +0000\""
    let body = """
      <Record type="t" sourceName="s" value="1"/><Record type="t" sourceName="s" \(date)/>\
      <Record type="u" sourceName="s" value="1"/><Record sourceName="s" value="1"/>
      """
    let export = try Export(body: body)
    #expect(export.counts.skippedOfType == ["t": 2, "u": 1])
  }

  @Test func `a workout has the zone of its HKTimeZone entry and of no other metadata`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\""
    let body = """
      <Workout workoutActivityType="a" sourceName="s" \(dates)>\
      <MetadataEntry key="HKTimeZone" value="Europe/Berlin"/>\
      <MetadataEntry key="HKTimeZoneOfPast" value="UTC"/>\
      <MetadataEntry key="HKWeatherT" value="1"/></Workout>
      """
    let export = try Export(body: body)
    #expect(export.samples.map(\.zone) == ["Europe/Berlin"])
    #expect(export.skipped == [.metadata: 2])
  }

  @Test(arguments: [(65_536, true), (65_537, false)], [1_000, 1 << 20])
  func `a tag of up to 64 KiB is read`(longest: (length: Int, isIncluded: Bool), pieces: Int) throws
  {
    func tag(_ unit: String) -> String { Export.record("unit=\"\(unit)\" value=\"1\"") }
    let unit = String(repeating: "u", count: longest.length - tag("").utf8.count)
    let export = try Export(body: tag(unit) + Self.one, pieces: pieces)
    #expect(export.samples.count == (longest.isIncluded ? 2 : 1))
    #expect(export.skipped == (longest.isIncluded ? [:] : [.tooLong: 1]))
  }

  @Test func `records inside an unterminated tag are read at most once`() throws {
    let export = try Export(
      body: "<Record type=\"" + String(repeating: "x", count: 100_000) + "'" + Self.one)
    #expect(export.counts.samples["HKQuantityTypeIdentifierStepCount"] ?? 0 <= 1)
  }

  @Test func `an export cut off anywhere keeps the samples before the cut`() throws {
    let text = Array(
      """
      <?xml version="1.0"?><!DOCTYPE HealthData [<!-- c --> ]>\(Self.root)
       \(Export.record("value=\"1\""))
       \(Export.record("value=\"2\"", body: "<MetadataEntry key=\"HKTimeZone\" value=\"UTC\"/>"))
       \(Export.record("value=\"3\""))
      </HealthData>
      """.utf8)
    let whole = try Export(text)
    #expect(whole.samples.count == 3)
    let begin = try #require(text.indices.first { text[$0...].starts(with: Self.root.utf8) })
    for length in 0..<text.count {
      guard length >= begin + Self.root.utf8.count else {
        #expect(throws: HealthExportError.empty) { try Export(text[..<length]) }
        continue
      }
      let export = try Export(text[..<length], pieces: 11)
      #expect(!export.counts.isWhole)
      #expect(export.counts.bytes == length)
      let values = export.samples.map(\.value)
      #expect(values == Array(whole.samples.map(\.value).prefix(values.count)), "\(length)")
    }
  }

  @Test func `a record that is open at the end of a cut-off export is kept`() throws {
    let start = Export.record(body: "").dropLast("</Record>".count)
    let export = try Export("\(Self.root)\(start)".utf8)
    #expect(export.samples == [Export.sample()])
    #expect(!export.counts.isWhole)
  }

  @Test func `a file that is not an export is rejected with the name of its root element`() {
    #expect(throws: HealthExportError.empty) { try Export([]) }
    #expect(throws: HealthExportError.empty) { try Export("just text".utf8) }
    #expect(throws: HealthExportError.foreign(element: "ClinicalDocument")) {
      try Export("<?xml version=\"1.0\"?><ClinicalDocument xmlns=\"urn:hl7-org:v3\">".utf8)
    }
    let error = HealthExportError.foreign(element: "gpx")
    #expect(error.description == "it holds gpx, not HealthData")
  }

  @Test(
    arguments: [
      ([0x1F, 0x8B, 8, 0], .gzip), ([0x1F, 0x8B], .gzip), (Array("BZh9".utf8), .bzip2),
      ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], .xz), ([0x28, 0xB5, 0x2F, 0xFD, 0x24], .zstandard),
      (Array("PK\u{3}\u{4}".utf8), .zip), (Array("PK\u{5}\u{6}".utf8), .zip),
      ([0xFE, 0xFF, 0, 0x3C], .utf16), ([0xFF, 0xFE, 0x3C, 0], .utf16),
      ([0, 0x3C, 0, 0x3F], .utf16), ([0x3C, 0, 0x3F, 0], .utf16),
    ] as [([UInt8], ExportDisguise)])
  func `a compressed or UTF-16 file is detected by its first bytes, and the error persists`(
    start: [UInt8], disguise: ExportDisguise
  ) throws {
    for pieces in [1, 3, 100] {
      #expect(throws: HealthExportError.disguised(disguise)) {
        try Export(start + Array("<HealthData></HealthData>".utf8), pieces: pieces)
      }
    }
    var reader = HealthExportReader()
    reader.append(start)
    reader.finish()
    for _ in 0..<2 {
      #expect(throws: HealthExportError.disguised(disguise)) { try reader.next() }
    }
  }

  @Test(arguments: ["\u{FEFF}<HealthData>", " <HealthData>", "<HealthData>"])
  func `a byte order mark or a blank before the root element is accepted`(start: String) throws {
    let export = try Export((start + Export.record() + "</HealthData>").utf8, pieces: 1)
    #expect(export.samples == [Export.sample()])
  }

  @Test func `the beginning of a file shows whether the file is an export`() {
    func isExport(_ text: String) -> Bool {
      let start = Array(text.utf8)[...]
      return HealthExportReader.isExport(start.span)
    }
    #expect(isExport("<?xml version=\"1.0\"?>\n<!DOCTYPE HealthData ["))
    #expect(isExport("<HealthData locale=\"ja\">"))
    #expect(!isExport("<ClinicalDocument>"))
    #expect(!isExport(""))
  }
}
