#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension String {
  /// Returns whether this text contains another one, up to a zero byte.
  ///
  /// Comparing characters takes a hundred times as long.
  func holds(_ part: String) -> Bool { unsafe strstr(self, part) != nil }
}

/// A file of the package. Its code is also available without comments and string literals.
struct SourceFile: Sendable {
  /// The file's path, relative to the package root.
  let path: String
  let lines: [String]
  /// The same lines without comments, string literals and names in backticks.
  let code: [String]
  /// The whole text.
  private let text: String

  init(path: String, text: String) {
    (self.path, self.text) = (path, text)
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last?.isEmpty == true { lines.removeLast() }
    self.lines = lines
    code = path.hasSuffix(".swift") ? Self.bare(lines) : lines
  }

  var isSwift: Bool { path.hasSuffix(".swift") }
  var isMarkdown: Bool { path.hasSuffix(".md") }

  /// Returns whether the file contains a text.
  func holds(_ part: String) -> Bool { text.holds(part) }

  func isUnder(_ folder: String) -> Bool { path.hasPrefix(folder + "/") }

  /// Removes comments and literals, including multi-line literals.
  ///
  /// The opening delimiter of a multi-line literal ends its line. The closing delimiter begins a
  /// line.
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

  /// Removes comments and literals from one line. An interpolation is removed as part of its
  /// literal.
  private static func bare(_ line: String) -> String {
    // Most lines contain no quotation mark, slash or backtick.
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

/// A violation of a rule, described as `path:line: what`.
struct Breach: Equatable, CustomStringConvertible {
  var path: String
  /// The line number, counted from 1.
  var line: Int
  var what: String

  init(_ file: SourceFile, _ index: Int, _ what: String) {
    path = file.path
    line = index + 1
    self.what = what
  }

  /// Creates a violation of a whole file.
  init(path: String, _ what: String) {
    (self.path, line, self.what) = (path, 1, what)
  }

  var description: String { "\(path):\(line): \(what)" }
}
