/// The rules of the house: functions from text to breaches.
enum Rules {
  static let maxFileLines = 400
  static let maxFunctionLines = 40

  static func fileLength(_ file: SourceFile) -> [Breach] {
    guard file.lines.count > maxFileLines else { return [] }
    return [Breach(file, maxFileLines, "\(file.lines.count) lines, at most \(maxFileLines)")]
  }

  static func functionLength(_ file: SourceFile) -> [Breach] {
    functions(in: file).filter { $0.count > maxFunctionLines }.map {
      Breach(file, $0.lowerBound, "\($0.count) lines, at most \(maxFunctionLines)")
    }
  }

  /// The lines of each function, initialiser and subscript that has a body.
  static func functions(in file: SourceFile) -> [Range<Int>] {
    file.code.indices.filter { declaresFunction(file.code[$0]) }.compactMap { line in
      bodyEnd(of: line, in: file.code).map { line..<($0 + 1) }
    }
  }

  private static func declaresFunction(_ line: String) -> Bool {
    if Ban("func", "").matches(line) || Ban("deinit", "").matches(line) { return true }
    let words = line.split(separator: " ")
    return words.contains { word in
      ["init(", "init?(", "init<", "subscript(", "subscript<"].contains { word.hasPrefix($0) }
    }
  }

  /// The line of the brace that closes the body, or nil for a requirement without one.
  private static func bodyEnd(of first: Int, in code: [String]) -> Int? {
    var brackets = 0
    var braces = 0
    for line in first..<code.count {
      if line > first, brackets == 0, braces == 0, !continuesHead(code[line]) { return nil }
      for byte in code[line].utf8 {
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: "["): brackets += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"): brackets -= 1
        case UInt8(ascii: "{") where brackets == 0: braces += 1
        case UInt8(ascii: "}") where brackets == 0:
          braces -= 1
          if braces == 0 { return line }
          if braces < 0 { return nil }
        case _: continue
        }
      }
    }
    return nil
  }

  private static func continuesHead(_ line: String) -> Bool {
    let head = line.drop { $0 == " " }
    return head.isEmpty
      || ["{", "->", "where", "async", "throws", "rethrows", "func", "init", ">", ","]
        .contains { head.hasPrefix($0) }
  }
}
