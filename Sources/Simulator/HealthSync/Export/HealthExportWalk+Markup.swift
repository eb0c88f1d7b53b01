import LinkHealth

// How the parts of an export are written.
extension HealthExportWalk {
  /// Writes a start tag in one of the forms that mean the same.
  mutating func add(_ start: ExportStart) {
    var tag = start
    if happens(3) { tag.attributes = tag.attributes.shuffled(using: &chance) }
    tag.attributes = tag.attributes.flatMap { happens(6) ? [odd(), $0] : [$0] }
    if happens(8) { tag.attributes.append(odd()) }
    tag.isEmpty = start.isEmpty
    var bytes = Array("<\(tag.name)".utf8)
    for (name, value) in tag.attributes {
      bytes += blanks(1) + Array(spelling(name).utf8)
      if happens(8), name.count < 60 { bytes += blanks(1) }
      bytes += Array("=".utf8)
      if happens(8) { bytes += blanks(0) }
      bytes += quoted(value.raw)
    }
    bytes += happens(5) ? blanks(0) : []
    draft.add(.start(tag), bytes + Array((tag.isEmpty ? "/>" : ">").utf8))
  }

  mutating func end(_ name: String) {
    draft.add(.end(name), "</\(name)\(one(["", "", "", " ", "\r\n"]))>")
  }

  /// Writes an element without attributes that count, closed at once or not.
  mutating func element(_ name: String) {
    let isEmpty = happens(2)
    add(ExportStart(name: name, isEmpty: isEmpty))
    if !isEmpty, !happens(6) { end(name) }
  }

  private mutating func blanks(_ least: Int) -> [UInt8] {
    happens(6) ? (0..<number(least...3)).map { _ in one([0x20, 0x0A, 0x0D, 0x09]) } : [0x20]
  }

  /// Writes a value between quotes that are not in it, if that is possible.
  private mutating func quoted(_ raw: [UInt8]) -> [UInt8] {
    let quotes: [UInt8] = happens(2) ? [0x22, 0x27] : [0x27, 0x22]
    let quote = quotes.first { !raw.contains($0) } ?? 0x22
    let other = Array("&#\(quote);".utf8)
    return [quote] + raw.flatMap { $0 == quote ? other : [$0] } + [quote]
  }

  /// Spells the name of an attribute as iOS does, or as iOS 8 did.
  private mutating func spelling(_ name: String) -> String {
    guard happens(5), name.first?.isUppercase == false else { return name }
    if name == "sourceName", happens(2) { return "source" }
    var spelling = ""
    for letter in name {
      if letter.isUppercase {
        spelling += one([" ", " ", "\n", "\t "])
        spelling += happens(3) ? String(letter) : letter.lowercased()
      } else {
        spelling.append(letter)
      }
    }
    return spelling
  }

  private static let oddNames = [
    "typ", "types", "Type", "valu", "values", "sourceNamX", "Xourcename", "sourceVersion", "xunit",
    "startDatX", "XtartDate", "creationDate", "endDatE", "keys", "ke", "summ", "su", "x", "locales",
    "durationunit", "durations", "totalDistanc", "totalDistances", "min", "xml:a", "unité", "_",
    "workoutActivityTypes", "totalEnergyBurnes", "devic", "Xevice", "sourceX", "dev ice", "e nd",
    "start datE", "x y",
  ]

  /// Draws an attribute that means nothing.
  private mutating func odd() -> (name: String, value: ExportWritten) {
    let name = happens(6) ? String(of: "n", count: one([8, 16, 63, 64])) : one(Self.oddNames)
    return (name, ExportWritten(one(["", "1", "x>", "/>", "2017-11-07 10:05:13 +0200"])))
  }

  /// Adds what is no element and means nothing.
  mutating func addSkipped() {
    let body = one([
      "", " ", "-", "x", " - -- ", "->", ">", "]", "]]", "]>", "?", "? >", "<Record type=\"no\"/>",
      "</HealthData>", "<Correlation/>", "<!-", "&lt;", " HealthKit Export Version: 7 ",
    ])
    switch number(0...3) {
    case 0: draft.add(.skipped(shown: 4), "<!--\(body)-->")
    case 1: draft.add(.skipped(shown: 2), "<?\(body)?>")
    case 2: draft.add(.skipped(shown: 9), "<![CDATA[\(body)]]>")
    case _:
      let text = one([
        "\n ", " > & \" = ' ", "x", "]]>", "-->", "?>", "/>", " Record type=\"no\"/>",
      ])
      draft.add(.skipped(shown: 0), text)
    }
  }

  /// Adds what cannot be read as a tag.
  mutating func addBroken() {
    if happens(8) {
      draft.add(.broken("malformed"), "<Correlation")
      draft.add(.start(ExportStart(name: "x")), "<x>")
      draft.add(.skipped(shown: 0), String(of: ".", count: 66))
      return
    }
    let name = String(of: "n", count: one([65, 66, 70]))
    let broken = one([
      "<Record type=t sourceName=\"s\"/>", "<Record type=\"t\"\" value=\"1\"/>", "<Record / >",
      "< Record/>", "<>", "<1/>", "<=x>", "<\"a\">", "<Record =\"x\"/>", "<Record \(name)=\"x\"/>",
      "<!nothing at all>", "<!-x--------->", "<![CDATA x]]>", "<!DOCTYPX x>", "<!doctype x>",
      "<Record a>b=\"1\"/>", "<Record a/b=\"1\"/>", "<Correlation/x>", "<Record type>", "<;>",
      "<[Record/>", "<@/>", "<Correlation=\"x\">", "<Correlation\"x\"/>", "<Me \(name)=\"x\"/>",
      "<Me \(name)=\"x\">",
      "<`/>", "<{/>", "<Correlation a\"b=\"1\"/>",
    ])
    // So many bytes without an equals sign show that none belongs to it.
    draft.add(.broken("malformed"), broken + String(of: ".", count: 66))
  }

  /// Adds a type definition.
  mutating func addDefinition(canBreakOff: Bool) {
    var text = "<!DOCTYPE" + one([" HealthData ", " a", " HealthData SYSTEM \"x.dtd\" "])
    guard !happens(4) else {
      draft.add(.definition(version: nil), text + ">")
      return addBehindDefinition()
    }
    text += "["
    var version: Int?
    for _ in 0..<number(0...5) {
      if happens(3) {
        let digits = one(["3", "9", "14", "9999", "10000", "100005", "123456", "023"])
        text += "<!-- HealthKit Export Version: \(digits)" + one(["-->", " -->", "\n-- -->", "."])
        if text.hasSuffix(".") { text += "5 --->" }
        version = version ?? Int(digits.prefix(5))
      } else {
        text += one(Self.declarations)
      }
      if happens(4) { text += "<!--" + String(of: "x", count: one([248, 249, 250, 300])) + "-->" }
    }
    let breaksOff = canBreakOff && happens(3)
    if !breaksOff { text += one(["]>", "] >", "]\n\t>", "<!]>", "]] \r>"]) }
    draft.add(.definition(version: version), text)
    if !breaksOff { addBehindDefinition() }
  }

  /// Adds what would be read in another way within a type definition.
  private mutating func addBehindDefinition() {
    switch number(0...3) {
    case 0: draft.add(.skipped(shown: 4), "<!-- HealthKit Export Version: 77 -->")
    case 1: draft.add(.skipped(shown: 9), "<![CDATA[<a/>]]>")
    case 2: draft.add(.skipped(shown: 2), "<?x <a/>?>")
    case _: break
    }
  }

  private static let declarations = [
    " ", "\n", "<!ELEMENT Record (MetadataEntry*)>", "<!ELEMENT a EMPTY>", "<!ENTITY a 'x'>",
    "<!ATTLIST Record\n  type CDATA #REQUIRED\n  unit CDATA #IMPLIED\n>", "<?x y?>", "<!---->",
    "<!ATTLIST VisionPrescription\n  type CDATA #REQUIRED\n  device   CDATA #IMPLIED\n", "<!>",
    "]a",
    "<!-- ]> <HealthData> -->", "<!-- <a/> -->", "identifier CDATA\n>", "] ]", "<!-- -- ->-->", "[",
    "<!--HealthKit Export Version: 5-->", "<!-- HealthKit export Version: 6 -->", "] x",
  ]
}
