/// A file of the package, with its comments and literals told apart from its code.
struct SourceFile: Sendable {
  /// Relative to the package root.
  let path: String
  let text: String
  let lines: [String]
  /// The same lines with comments, literals and quoted names blanked out.
  let code: [String]
  /// The same lines with everything but comments blanked out.
  let comments: [String]
  /// Code with quoted names left in.
  let named: [String]

  init(path: String, text: String) {
    self.path = path
    self.text = text
    lines = Self.split(Array(text.utf8))
    guard Self.isLexed(path) else {
      (code, comments, named) = (lines, lines, lines)
      return
    }
    let bytes = Array(text.utf8)
    let parts = Lexer(bytes).parts
    code = Self.view(of: bytes, parts, keeping: [.code])
    comments = Self.view(of: bytes, parts, keeping: [.comment])
    named = Self.view(of: bytes, parts, keeping: [.code, .name])
  }

  var isSwift: Bool { path.hasSuffix(".swift") }
  var isMarkdown: Bool { path.hasSuffix(".md") }

  func isUnder(_ folder: String) -> Bool { path.hasPrefix(folder + "/") }

  private static func isLexed(_ path: String) -> Bool {
    [".swift", ".c", ".h"].contains { path.hasSuffix($0) }
  }

  private static func view(of bytes: [UInt8], _ parts: [Part], keeping: [Part]) -> [String] {
    var kept = bytes
    for index in bytes.indices where bytes[index] != UInt8(ascii: "\n") {
      if !keeping.contains(parts[index]) { kept[index] = UInt8(ascii: " ") }
    }
    return split(kept)
  }

  private static func split(_ bytes: [UInt8]) -> [String] {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// A place where a rule of the house is broken, as `path:line: what`.
struct Breach: Equatable, CustomStringConvertible {
  var path: String
  /// Counted from 1.
  var line: Int
  var what: String

  init(_ file: SourceFile, _ index: Int, _ what: String) {
    path = file.path
    line = index + 1
    self.what = what
  }

  var description: String { "\(path):\(line): \(what)" }
}
