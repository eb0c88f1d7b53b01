/// Finds the shapes of switches and enums in code whose comments and literals are blanked out.
enum Scan {
  /// One `case …:` or `default:` of a switch, or one `case …` of an enum.
  struct Label {
    /// Where its word begins.
    var start: Int
    /// The patterns between the commas, without those that a `where` narrows.
    var patterns: [String] = []
    var isDefault = false
  }

  /// Where a keyword stands, not as a part of a longer word or as a member's name.
  static func words(_ word: String, in code: [UInt8]) -> [Int] {
    code.indices.filter { code[$0] == word.utf8.first && stands(word, at: $0, in: code) }
  }

  /// What stands between the braces that follow a keyword, or `nil` if none do.
  static func body(from start: Int, in code: [UInt8]) -> Range<Int>? {
    var depth = 0
    var open: Int?
    for at in start..<code.count {
      switch code[at] {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "{"):
        if depth == 0, open == nil { open = at + 1 }
        depth += 1
      case UInt8(ascii: "}"):
        depth -= 1
        if depth == 0, let open { return open..<at }
      case _: break
      }
      if depth < 0 { return nil }
    }
    return nil
  }

  /// The labels of a body that are not inside another pair of braces.
  static func labels(in body: Range<Int>, of code: [UInt8], isPattern: Bool) -> [Label] {
    var labels: [Label] = []
    var depth = 0
    var at = body.lowerBound
    while at < body.upperBound {
      switch code[at] {
      case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: "c") where depth == 0 && stands("case", at: at, in: code):
        if let label = label(at, body.upperBound, code, isPattern) { labels.append(label) }
      case UInt8(ascii: "d") where depth == 0 && stands("default", at: at, in: code):
        // `@unknown default:` is how Swift spells a wildcard over a foreign enum.
        if isPattern, code[..<at].suffix(9) != ArraySlice("@unknown ".utf8) {
          labels.append(Label(start: at, isDefault: true))
        }
      case _: break
      }
      at += 1
    }
    return labels
  }

  /// The label whose `case` begins at `start`; `nil` for the `case` of an `if`, `guard` or `for`.
  private static func label(
    _ start: Int, _ end: Int, _ code: [UInt8], _ isPattern: Bool
  ) -> Label? {
    var depth = 0
    var at = start + 4
    while at < end {
      switch code[at] {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "\n") where !isPattern && depth == 0 && !endsWithComma(code, at):
        return Label(start: start, patterns: patterns(code[start + 4..<at]))
      case UInt8(ascii: ":") where isPattern && depth == 0:
        return Label(start: start, patterns: patterns(code[start + 4..<at]))
      case UInt8(ascii: "=") where depth == 0 && !isPattern:
        // A raw value: the name is complete.
        return Label(start: start, patterns: patterns(code[start + 4..<at]))
      case UInt8(ascii: "=") where depth == 0 && isAssignment(code, at): return nil
      case UInt8(ascii: "{"), UInt8(ascii: "}"): return nil
      case UInt8(ascii: "i") where depth == 0 && stands("in", at: at, in: code): return nil
      case _: break
      }
      at += 1
    }
    return isPattern ? nil : Label(start: start, patterns: patterns(code[start + 4..<end]))
  }

  private static func patterns(_ text: ArraySlice<UInt8>) -> [String] {
    split(Substring(decoding: text, as: UTF8.self)).filter { !$0.contains(" where ") }
  }

  /// The parts between commas that are in no brackets, on one line each.
  static func split(_ text: Substring) -> [String] {
    var parts = [""]
    var depth = 0
    for character in text {
      if "([".contains(character) { depth += 1 }
      if ")]".contains(character) { depth -= 1 }
      if character == "`" { continue }
      if character == ",", depth == 0 {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character == "\n" ? " " : character)
      }
    }
    return parts.map { part in
      let words = part.split(separator: " ")
      return words.joined(separator: " ")
    }
  }

  static func firstWord(_ text: String) -> String? {
    let word = text.drop { $0 == "`" || $0 == " " }.prefix {
      $0.isLetter || $0.isNumber || $0 == "_"
    }
    return word.isEmpty ? nil : String(word)
  }

  /// The line of a place, counted from 0.
  static func line(of at: Int, in code: [UInt8]) -> Int {
    code[..<at].count { $0 == UInt8(ascii: "\n") }
  }

  /// Whether a keyword begins at a place.
  private static func stands(_ word: String, at: Int, in code: [UInt8]) -> Bool {
    let end = at + word.utf8.count
    return code[at...].starts(with: word.utf8) && (at == 0 || !joins(code[at - 1]))
      && (end == code.count || !joins(code[end]))
  }

  /// Whether a byte beside a keyword makes it a part of a name.
  private static func joins(_ byte: UInt8) -> Bool {
    isWord(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "`")
  }

  /// A single `=`, not one of `==`, `!=`, `<=`, `>=` or `=>`.
  private static func isAssignment(_ code: [UInt8], _ at: Int) -> Bool {
    let before = code[at - 1]
    let after = at + 1 < code.count ? code[at + 1] : 0
    return !Array("=!<>~".utf8).contains(before) && after != UInt8(ascii: "=")
  }

  private static func endsWithComma(_ code: [UInt8], _ at: Int) -> Bool {
    code[..<at].last { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") } == UInt8(ascii: ",")
  }
}
