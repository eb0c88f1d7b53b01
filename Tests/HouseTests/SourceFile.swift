/// A file of the package, and its code without comments and texts.
struct SourceFile: Sendable {
  /// Relative to the package root.
  let path: String
  let lines: [String]
  /// The same lines without comments, texts and names in backticks.
  let code: [String]

  init(path: String, text: String) {
    self.path = path
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last?.isEmpty == true { lines.removeLast() }
    self.lines = lines
    code = path.hasSuffix(".swift") ? Self.bare(lines) : lines
  }

  var isSwift: Bool { path.hasSuffix(".swift") }
  var isMarkdown: Bool { path.hasSuffix(".md") }

  func isUnder(_ folder: String) -> Bool { path.hasPrefix(folder + "/") }

  /// A text of several lines begins at a line's end and ends at a line's beginning.
  private static func bare(_ lines: [String]) -> [String] {
    var isText = false
    return lines.map { line in
      if isText {
        isText = !line.utf8.drop { $0 == 0x20 }.starts(with: "\"\"\"".utf8)
        return ""
      }
      isText = line.utf8.suffix(3).elementsEqual("\"\"\"".utf8)
      return bare(line)
    }
  }

  /// An interpolation counts as a part of its text.
  private static func bare(_ line: String) -> String {
    // Most lines have none of these.
    guard line.utf8.contains(where: { [0x22, 0x2F, 0x60].contains($0) }) else { return line }
    var code = ""
    var fence: Character?
    var previous: Character = " "
    for character in line {
      if fence == nil, character == "/", previous == "/" { return String(code.dropLast()) }
      if fence == nil { code.append(character) }
      if fence == character, previous != "\\" {
        fence = nil
      } else if fence == nil, character == "\"" || character == "`" {
        fence = character
      }
      previous = previous == "\\" && character == "\\" ? " " : character
    }
    return code
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
