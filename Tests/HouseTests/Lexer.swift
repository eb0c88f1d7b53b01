/// What a byte of Swift source belongs to.
enum Part: Equatable {
  case code
  case comment
  case string
  /// An identifier in backticks, backticks included.
  case name
}

/// Sorts each byte of a Swift source into code, comment, string or quoted name.
///
/// It knows nested comments, raw and multi-line strings, and that an interpolation is code again.
/// Regex literals are taken for code.
struct Lexer {
  private(set) var parts: [Part]
  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    parts = Array(repeating: .code, count: bytes.count)
    code(endsAtParenthesis: false)
  }

  private mutating func code(endsAtParenthesis: Bool) {
    var depth = 0
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"): lineComment()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): blockComment()
      case UInt8(ascii: "\""): string(hashes: 0)
      case UInt8(ascii: "#"): hashes()
      case UInt8(ascii: "`"): name()
      case UInt8(ascii: "("):
        depth += 1
        at += 1
      case UInt8(ascii: ")"):
        // The end of an interpolation belongs to the string, as its beginning does.
        if depth == 0, endsAtParenthesis { return take(.string) }
        at += 1
        depth -= 1
      case _: at += 1
      }
    }
  }

  private mutating func lineComment() {
    while let byte = peek(), byte != UInt8(ascii: "\n") { take(.comment) }
  }

  private mutating func blockComment() {
    var depth = 0
    while peek() != nil {
      if starts(with: "/*") {
        depth += 1
        take(.comment, 2)
      } else if starts(with: "*/") {
        depth -= 1
        take(.comment, 2)
        if depth == 0 { return }
      } else {
        take(.comment)
      }
    }
  }

  /// Either the opening of a raw string or a directive such as `#if`.
  private mutating func hashes() {
    var count = 0
    while peek(count) == UInt8(ascii: "#") { count += 1 }
    guard peek(count) == UInt8(ascii: "\"") else {
      at += count
      return
    }
    take(.string, count)
    string(hashes: count)
  }

  private mutating func string(hashes: Int) {
    let fence = String(repeating: "#", count: hashes)
    let quote = opensLines(fence) ? "\"\"\"" : "\""
    take(.string, quote.utf8.count)
    while let byte = peek() {
      if starts(with: quote + fence) { return take(.string, quote.utf8.count + hashes) }
      // A line's end closes a string that was none, so that one mistake stays on its line.
      if quote.utf8.count == 1, byte == UInt8(ascii: "\n") { return }
      guard starts(with: "\\" + fence) else {
        take(.string)
        continue
      }
      take(.string, 1 + hashes)
      let opensCode = peek() == UInt8(ascii: "(")
      take(.string)
      if opensCode { code(endsAtParenthesis: true) }
    }
  }

  /// Three quotes open a multi-line string, unless a raw one ends on the same line: `#""""#`.
  private func opensLines(_ fence: String) -> Bool {
    guard starts(with: "\"\"\"") else { return false }
    let line = bytes[(at + 1)...].prefix { $0 != UInt8(ascii: "\n") }
    return fence.isEmpty || !String(decoding: line, as: UTF8.self).contains("\"" + fence)
  }

  private mutating func name() {
    take(.name)
    while let byte = peek(), byte != UInt8(ascii: "\n") {
      take(.name)
      if byte == UInt8(ascii: "`") { return }
    }
  }

  private func peek(_ ahead: Int = 0) -> UInt8? {
    at + ahead < bytes.count ? bytes[at + ahead] : nil
  }

  private func starts(with text: String) -> Bool {
    bytes[at...].starts(with: text.utf8)
  }

  private mutating func take(_ part: Part, _ count: Int = 1) {
    for index in at..<min(at + count, bytes.count) { parts[index] = part }
    at = min(at + count, bytes.count)
  }
}
