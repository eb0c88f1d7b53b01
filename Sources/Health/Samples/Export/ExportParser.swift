import HoldfastCore

/// A parser for the markup of an export. It passes the elements to the assembler.
///
/// It skips the type definition token by token. The definition of iOS 16 ends in the middle of a
/// declaration, and no version declares all elements that the file contains.
struct ExportParser: Sendable {
  /// The kind of markup that contains the next byte.
  private enum Context {
    case content
    case comment
    case instruction
    case section
    /// The type definition after `<!DOCTYPE`. `isInside` is true after its `[`.
    case definition(isInside: Bool)
    case definitionComment
  }

  /// The maximum size of a tag, in bytes. Real tags are shorter than 2 KiB.
  static let longestTag = 64 << 10

  /// The maximum size of an element's name, in bytes.
  private static let longestName = 40

  private var context = Context.content
  private var tag = ExportTag()
  private var assembler = ExportAssembler()
  private var hasRoot = false
  private var foreign: String?

  var counts: ExportCounts { assembler.counts }

  /// Records that the bytes contain something that never occurs in exports.
  mutating func noteDamage() { assembler.counts.isDamaged = true }

  /// Reads until a batch is ready or the bytes end. Returns the index after the bytes that were
  /// read.
  mutating func run(_ buffer: [UInt8], from start: Int, isLast: Bool) -> Int {
    let slice = buffer[...]
    let bytes = slice.span
    var index = start
    while index < bytes.count, !assembler.isReady, foreign == nil {
      let next = step(bytes, at: index, isLast: isLast)
      if next == index {
        guard isLast || bytes.count - index > Self.longestTag else { break }
        assembler.counts[isLast ? .cutOff : .tooLong] += 1
        // Elements inside a tag that has no end may be intact.
        index = isLast ? bytes.next(UInt8(ascii: "<"), from: index + 1) : index + 1
        continue
      }
      index = next
    }
    assembler.counts.bytes += index - start
    return index
  }

  /// Returns a full batch or, at the end, the remaining samples.
  mutating func take(isLast: Bool) throws(HealthExportError) -> HealthBatch? {
    if let foreign { throw .foreign(element: foreign) }
    if assembler.isReady { return assembler.take() }
    guard isLast else { return nil }
    guard hasRoot else { throw .empty }
    return assembler.takeRest()
  }

  /// Reads one token. Returns the same index if more bytes are needed.
  @inline(__always)
  private mutating func step(_ bytes: Span<UInt8>, at index: Int, isLast: Bool) -> Int {
    switch context {
    case .content: content(bytes, at: index)
    case .comment: end(of: "-->", bytes, at: index, isLast, then: .content)
    case .instruction: end(of: "?>", bytes, at: index, isLast, then: .content)
    case .section: end(of: "]]>", bytes, at: index, isLast, then: .content)
    case .definition(let isInside): definition(bytes, at: index, isInside: isInside)
    case .definitionComment:
      end(of: "-->", bytes, at: index, isLast, then: .definition(isInside: true))
    }
  }

  @inline(__always)
  private mutating func content(_ bytes: Span<UInt8>, at index: Int) -> Int {
    let open = bytes.next(UInt8(ascii: "<"), from: index)
    if hasRoot { noteText(bytes, index..<open) }
    guard open &+ 1 < bytes.count else { return open }
    switch bytes[open &+ 1] {
    case UInt8(ascii: "/"): return close(bytes, at: open)
    case UInt8(ascii: "?"):
      context = .instruction
      return open &+ 2
    case UInt8(ascii: "!"): return declaration(bytes, at: open)
    case 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), 0x80...: return start(bytes, at: open)
    case _:
      assembler.counts[.malformed] += 1
      return open &+ 1
    }
  }

  /// Records text within the root. Exports contain none, so it is the rest of a damaged element.
  @inline(__always)
  private mutating func noteText(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    for position in range where !isBlank(bytes[position]) {
      if !counts.isWhole { noteDamage() }
      return
    }
  }

  @inline(__always)
  private mutating func start(_ bytes: Span<UInt8>, at open: Int) -> Int {
    switch tag.read(bytes, at: open) {
    case .cut: return open
    case .malformed:
      assembler.counts[.malformed] += 1
      return open &+ 1
    case .read(let next):
      guard next &- open <= Self.longestTag else {
        assembler.counts[.tooLong] += 1
        return open &+ 1
      }
      guard hasRoot || isRoot(bytes, at: open) else { return next }
      assembler.start(tag, bytes)
      return next
    }
  }

  private mutating func isRoot(_ bytes: Span<UInt8>, at open: Int) -> Bool {
    hasRoot = tag.element == .healthData
    guard !hasRoot else { return true }
    var end = open + 1
    while end < bytes.count, end < open + 64, bytes[end] != UInt8(ascii: ">"),
      bytes[end] != UInt8(ascii: "/"), !isBlank(bytes[end])
    { end += 1 }
    foreign = ExportText(bytes, open + 1..<end).text
    return false
  }

  @inline(__always)
  private mutating func close(_ bytes: Span<UInt8>, at open: Int) -> Int {
    let end = bytes.next(UInt8(ascii: ">"), from: open &+ 2)
    guard end < bytes.count else { return open }
    // An end tag without its own `>` would consume the next element.
    if end &- open > Self.longestName, bytes.next(UInt8(ascii: "<"), from: open &+ 1) < end {
      assembler.counts[.malformed] += 1
      return open &+ 1
    }
    // The name may be followed by white space (XML 1.0 section 3.1).
    var last = end
    while last > open &+ 2, isBlank(bytes[last &- 1]) { last &-= 1 }
    assembler.close(bytes, open &+ 2..<last)
    return end &+ 1
  }

  /// Reads the start of a comment, a section, or the type definition.
  private mutating func declaration(_ bytes: Span<UInt8>, at open: Int) -> Int {
    if bytes.holds("<!--", at: open) {
      context = .comment
      return open + 4
    }
    if bytes.holds("<![CDATA[", at: open) {
      context = .section
      return open + 9
    }
    if bytes.holds("<!DOCTYPE", at: open) {
      context = .definition(isInside: false)
      return open + 9
    }
    guard bytes.count - open >= 9 else { return open }
    assembler.counts[.malformed] += 1
    return open + 2
  }

  /// Skips to the end mark. The mark may be split between two blocks of bytes.
  private mutating func end(
    of mark: StaticString, _ bytes: Span<UInt8>, at index: Int, _ isLast: Bool, then next: Context
  ) -> Int {
    if let end = bytes.next(mark, from: index) {
      context = next
      return end + mark.utf8CodeUnitCount
    }
    let rest = bytes.count - index
    return isLast ? bytes.count : max(index, index + rest - mark.utf8CodeUnitCount + 1)
  }

  /// Reads one token of the type definition.
  private mutating func definition(_ bytes: Span<UInt8>, at index: Int, isInside: Bool) -> Int {
    switch bytes[index] {
    case UInt8(ascii: "["):
      context = .definition(isInside: true)
      return index + 1
    case UInt8(ascii: ">") where !isInside:
      context = .content
      return index + 1
    case UInt8(ascii: "]"):
      var end = index + 1
      while end < bytes.count, isBlank(bytes[end]) { end += 1 }
      guard end < bytes.count else { return index }
      guard bytes[end] == UInt8(ascii: ">") else { return end }
      context = .content
      return end + 1
    case UInt8(ascii: "<"): return definitionToken(bytes, at: index)
    case _: return index + 1
    }
  }

  private mutating func definitionToken(_ bytes: Span<UInt8>, at index: Int) -> Int {
    guard index + 4 <= bytes.count else { return index }
    if bytes.holds("<!--", at: index) {
      // The version is at the beginning of a comment. The rest of the comment may not have arrived
      // yet.
      guard bytes.next("-->", from: index) != nil || bytes.count - index > 256 else { return index }
      noteVersion(bytes, at: index + 4)
      context = .definitionComment
      return index + 4
    }
    switch bytes[index + 1] {
    case UInt8(ascii: "!"), UInt8(ascii: "?"): return index + 2
    case _:
      // An element cannot occur here, so the end of the definition is missing. Returning `index`
      // would request more bytes.
      context = .content
      return content(bytes, at: index)
    }
  }

  private mutating func noteVersion(_ bytes: Span<UInt8>, at index: Int) {
    let mark: StaticString = " HealthKit Export Version: "
    guard assembler.counts.version == nil, bytes.holds(mark, at: index) else { return }
    let digits = index + mark.utf8CodeUnitCount
    var (position, version) = (digits, 0)
    while position < bytes.count, 0x30...0x39 ~= bytes[position], version < 10_000 {
      version = version * 10 + Int(bytes[position] - 0x30)
      position += 1
    }
    if position > digits { assembler.counts.version = version }
  }
}
