// Random markup of an export.
extension RandomExport {
  /// Adds a start tag in one of its equivalent forms.
  mutating func add(_ start: WrittenTag) {
    var tag = start
    if happens(3) { tag.attributes = tag.attributes.shuffled(using: &generator) }
    tag.attributes = tag.attributes.flatMap { happens(6) ? [unusual(), $0] : [$0] }
    if happens(8) { tag.attributes.append(unusual()) }
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

  /// Adds an element without attributes. It may be empty, closed or left open.
  mutating func element(_ name: String) {
    let isEmpty = happens(2)
    add(WrittenTag(name: name, isEmpty: isEmpty))
    if !isEmpty, !happens(6) { end(name) }
  }

  private mutating func blanks(_ least: Int) -> [UInt8] {
    happens(6) ? (0..<number(least...3)).map { _ in one([0x20, 0x0A, 0x0D, 0x09]) } : [0x20]
  }

  /// Quotes a value, if possible with a quotation mark that it does not contain.
  private mutating func quoted(_ raw: [UInt8]) -> [UInt8] {
    let quotes: [UInt8] = happens(2) ? [0x22, 0x27] : [0x27, 0x22]
    let quote = quotes.first { !raw.contains($0) } ?? 0x22
    let other = Array("&#\(quote);".utf8)
    return [quote] + raw.flatMap { $0 == quote ? other : [$0] } + [quote]
  }

  /// Draws the current spelling of a name, or the spelling of iOS 8, which contains blanks.
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
    "startDatX", "XtartDate", "creationDatX", "endDatE", "keys", "ke", "summ", "su", "x", "locales",
    "durationunit", "durations", "totalDistanc", "totalDistances", "min", "xml:a", "unité", "_",
    "workoutActivityTypes", "totalEnergyBurnes", "devic", "Xevice", "sourceX", "dev ice", "e nd",
    "start datE", "x y",
  ]

  /// Draws an attribute that has no meaning.
  private mutating func unusual() -> (name: String, value: WrittenValue) {
    let name = happens(6) ? String(of: "n", count: one([8, 16, 63, 64])) : one(Self.oddNames)
    return (name, WrittenValue(one(["", "1", "x>", "/>", "2017-11-07 10:05:13 +0200"])))
  }

  /// Adds text or markup that has no meaning.
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

  /// Adds markup that cannot be read as a tag.
  mutating func addBroken() {
    if happens(8) {
      draft.add(.broken("malformed"), "<Correlation")
      draft.add(.start(WrittenTag(name: "x")), "<x>")
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
    // After 66 bytes without an equals sign, the reader knows that no value follows.
    draft.add(.broken("malformed"), broken + String(of: ".", count: 66))
  }

  /// Adds a document type definition.
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

  /// Adds markup that would have a different meaning within a document type definition.
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
