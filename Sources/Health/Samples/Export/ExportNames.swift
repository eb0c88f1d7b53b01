import HoldfastCore

/// The texts of an export. Equal bytes have the same number, so that each text is created once.
struct ExportNames {
  /// The way in which a text is read.
  enum Kind: UInt8 {
    case plain
    /// A device, without the part that differs between exports.
    case device
  }

  private struct Entry {
    var start: Int
    var count: Int
    var kind: Kind
    var number: UInt16
  }

  /// The maximum number of texts. Real exports have fewer, and the numbers fit into the 16 bits of
  /// a row.
  private static let mostEntries = 32_768
  private static let mostBytes = 2 << 20

  /// The texts by number.
  private(set) var names: [HealthName] = []
  /// The number of texts that had to be repaired.
  private(set) var repaired = 0
  private var numbers: [HealthSampleKey: UInt16] = [:]
  // `Array.span` needs iOS 26, but the span of a `ContiguousArray` does not.
  private var raw: ContiguousArray<UInt8> = []
  private var entries: [Entry] = []
  private var slots: [UInt16]

  init() {
    slots = Array(repeating: .max, count: 1024)
  }

  /// Whether the list must be cleared before the next element. An element contains at most seven
  /// texts.
  var isFull: Bool { entries.count > Self.mostEntries - 16 || raw.count > Self.mostBytes }

  /// Removes all texts. Numbers that were returned earlier become invalid.
  mutating func begin() {
    let sum = repaired
    self = ExportNames()
    repaired = sum
  }

  /// Returns the number of the text in these bytes, or `HealthRow.none` if it is empty or missing.
  @inline(__always)
  mutating func optionalNumber(
    _ bytes: Span<UInt8>, _ range: Range<Int>?, as kind: Kind = .plain
  ) -> UInt16 {
    guard let range, !range.isEmpty else { return HealthRow.none }
    return number(bytes, range, as: kind)
  }

  /// Returns the number of the text in these bytes.
  @inline(__always)
  mutating func number(
    _ bytes: Span<UInt8>, _ range: Range<Int>, as kind: Kind = .plain
  ) -> UInt16 {
    let mask = slots.count &- 1
    var slot = Int(truncatingIfNeeded: Self.hash(bytes, range, kind)) & mask
    while true {
      let index = slots[slot]
      if index == .max { return add(bytes, range, kind, at: slot) }
      let entry = entries[Int(index)]
      if entry.count == range.count, entry.kind == kind, isSame(entry, bytes, range) {
        return entry.number
      }
      slot = (slot &+ 1) & mask
    }
  }

  /// Returns the number of a text that is not taken from the bytes of the export.
  mutating func number(of text: String) -> UInt16 {
    let name = HealthName(text)
    if let known = numbers[name.key] { return known }
    let number = UInt16(names.count)
    names.append(name)
    numbers[name.key] = number
    return number
  }

  @inline(__always)
  private func isSame(_ entry: Entry, _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    let known = raw.span
    var offset = 0
    while offset &+ 8 <= entry.count {
      guard
        known.word(at: entry.start &+ offset) == bytes.word(at: range.lowerBound &+ offset)
      else { return false }
      offset &+= 8
    }
    return known.word(at: entry.start &+ offset, before: entry.start &+ entry.count)
      == bytes.word(at: range.lowerBound &+ offset, before: range.upperBound)
  }

  private mutating func add(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ kind: Kind, at slot: Int
  ) -> UInt16 {
    let read = ExportText(bytes, range)
    if read.isRepaired { repaired += 1 }
    let text =
      switch kind {
      case .plain: read.text
      case .device: ExportText.device(read.text)
      }
    let number = number(of: text)
    slots[slot] = UInt16(entries.count)
    entries.append(Entry(start: raw.count, count: range.count, kind: kind, number: number))
    for index in range { raw.append(bytes[index]) }
    if entries.count * 2 > slots.count { grow() }
    return number
  }

  /// Doubles the size of the hash table.
  private mutating func grow() {
    slots = Array(repeating: .max, count: slots.count * 2)
    for (index, entry) in entries.enumerated() {
      let hash = Self.hash(raw.span, entry.start..<entry.start + entry.count, entry.kind)
      var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
      while slots[slot] != .max { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = UInt16(index)
    }
  }

  @inline(__always)
  private static func hash(_ bytes: Span<UInt8>, _ range: Range<Int>, _ kind: Kind) -> UInt64 {
    var hash = UInt64(range.count) &+ UInt64(kind.rawValue) &<< 32
    var offset = range.lowerBound
    while offset &+ 8 <= range.upperBound {
      hash = (hash ^ bytes.word(at: offset)) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash &>> 29
      offset &+= 8
    }
    hash = (hash ^ bytes.word(at: offset, before: range.upperBound)) &* 0x9E37_79B9_7F4A_7C15
    return hash ^ hash &>> 32
  }
}
