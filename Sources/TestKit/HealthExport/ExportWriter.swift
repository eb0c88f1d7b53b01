import HoldfastCore

/// A writer of the XML elements of an export.
struct ExportWriter {
  /// The source and the time that records, workouts and correlations have in common.
  struct Frame {
    var source: GeneratedSource
    /// The start, in seconds since 1970-01-01.
    var start: Int
    var end: Int
  }

  private(set) var bytes: [UInt8] = []
  /// The offset from UTC, in seconds, at the time of the export. All dates of a file use it.
  let offset: Int
  /// The memory address that appears in device descriptions. It differs in each export.
  let pointer: UInt64
  private var day = Int.min
  private var dayText: [UInt8] = []

  init(offset: Int, pointer: UInt64) {
    self.offset = offset
    self.pointer = pointer
    bytes.reserveCapacity(128 << 10)
  }

  /// Returns the bytes written so far, and removes them.
  mutating func take() -> [UInt8] {
    let taken = bytes
    bytes.removeAll(keepingCapacity: true)
    return taken
  }

  mutating func text(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  /// Writes a record. If `isOpen` is true, the element remains open until `close`.
  mutating func record(
    _ type: String, _ frame: Frame, unit: String? = nil, value: String?, isOpen: Bool = false,
    indent: String = " "
  ) {
    text("\(indent)<Record type=\"\(type)\"")
    self.frame(frame, unit: unit)
    if let value { attribute("value", value) }
    text(isOpen ? ">\n" : "/>\n")
  }

  mutating func metadata(_ key: String, _ value: String, indent: String = "  ") {
    text("\(indent)<MetadataEntry")
    attribute("key", key)
    attribute("value", value)
    text("/>\n")
  }

  mutating func close(_ element: String, indent: String = " ") {
    text("\(indent)</\(element)>\n")
  }

  /// Writes the attributes after the type, in the order in which iPhones write them.
  mutating func frame(_ frame: Frame, unit: String? = nil) {
    attribute("sourceName", frame.source.name)
    attribute("sourceVersion", frame.source.version)
    if !frame.source.device.isEmpty {
      text(" device=\"&lt;&lt;HKDevice: 0x\(String(pointer, radix: 16))&gt;, ")
      text(frame.source.device)
      text("&gt;\"")
    }
    if let unit { attribute("unit", unit) }
    date("creationDate", frame.end + 6)
    date("startDate", frame.start)
    date("endDate", frame.end)
  }

  mutating func attribute(_ name: String, _ value: String) {
    text(" \(name)=\"")
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "<"): text("&lt;")
      case UInt8(ascii: ">"): text("&gt;")
      case UInt8(ascii: "&"): text("&amp;")
      case UInt8(ascii: "\""): text("&quot;")
      case _: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func date(_ name: String, _ second: Int) {
    text(" \(name)=\"")
    date(second)
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func date(_ second: Int) {
    let local = second + offset
    let number = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
    if number != day {
      day = number
      dayText = Array("\(Self.day(number)) ".utf8)
    }
    let clock = local - number * 86_400
    bytes.append(contentsOf: dayText)
    for (index, part) in [clock / 3_600, clock / 60 % 60, clock % 60].enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ":")) }
      digits(part)
    }
    bytes.append(UInt8(ascii: " "))
    bytes.append(offset < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
    digits(abs(offset) / 3_600)
    digits(abs(offset) / 60 % 60)
  }

  private mutating func digits(_ value: Int) {
    bytes.append(UInt8(0x30 + value / 10 % 10))
    bytes.append(UInt8(0x30 + value % 10))
  }

  /// Returns a day in the form `2026-03-29`.
  static func day(_ number: Int) -> String {
    let (year, month, day) = Gregorian.civil(dayNumber: number)
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(year)-\(two(month))-\(two(day))"
  }
}

/// The source that recorded an entry.
struct GeneratedSource {
  var name: String
  var version: String
  /// The escaped description of the device; empty if there is none.
  var device: String

  static let watch = GeneratedSource(
    name: "Anna’s\u{A0}Apple\u{A0}Watch", version: "11.2",
    device: "name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch6,2, "
      + "software:11.2")
  static let phone = GeneratedSource(
    name: "Anna’s iPhone", version: "18.2.1",
    device: "name:iPhone, manufacturer:Apple Inc., model:iPhone, hardware:iPhone15,2, "
      + "software:18.2.1")
  static let scale = GeneratedSource(name: "Balance & Scale", version: "412", device: "")
  static let cuff = GeneratedSource(name: "PressureCuff", version: "3.0.4", device: "")
  static let meals = GeneratedSource(name: "Meal \"Diary\"", version: "7", device: "")
  static let calm = GeneratedSource(name: "Stillness", version: "2.1", device: "")
}
