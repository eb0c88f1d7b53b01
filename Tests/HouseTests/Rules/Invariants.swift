extension Rules {
  /// Each invariant that a type states is named by a test, which shows that it can fail.
  ///
  /// An invariant is named by the last argument of `check.require(`, a literal such as
  /// `"link: it is idle"`.
  static func invariants(_ file: SourceFile, tests: [SourceFile]) -> [Breach] {
    guard file.isUnder("Sources") else { return [] }
    return checks(in: file).compactMap { check in
      guard let (line, name) = check.literal, isInvariantName(name) else {
        let what = "an invariant is named by its subject, a colon and what holds"
        return Breach(file, check.start, what)
      }
      let literal = "\"\(name)\""
      guard !tests.contains(where: { $0.text.contains(literal) }) else { return nil }
      return Breach(file, line, "no test shows that this can fail: \(name)")
    }
  }

  /// No two invariants of the package have the same name: what is broken tells where.
  static func repeatedInvariants(_ files: [SourceFile]) -> [Breach] {
    var known: Set<String> = []
    return files.filter { $0.isUnder("Sources") }.flatMap { file in
      checks(in: file).compactMap { check in
        guard let (line, name) = check.literal, !known.insert(name).inserted else { return nil }
        return Breach(file, line, "another invariant has this name: \(name)")
      }
    }
  }

  /// The calls that state an invariant: where each begins, and the last literal in it.
  private static func checks(
    in file: SourceFile
  ) -> [(start: Int, literal: (line: Int, text: String)?)] {
    let calls = file.code.indices.filter { file.code[$0].contains("check.require(") }
    return zip(calls, calls.dropFirst() + [file.lines.count]).map { start, end in
      (start, lastLiteral(in: file, start..<end))
    }
  }

  /// The literal before the end of the call that begins on the first of these lines.
  private static func lastLiteral(
    in file: SourceFile, _ lines: Range<Int>
  ) -> (line: Int, text: String)? {
    var depth = 0
    var last: (line: Int, text: String)?
    for line in lines {
      let parts = file.lines[line].split(separator: "\"", omittingEmptySubsequences: false)
      if parts.count >= 3 { last = (line, String(parts[parts.count - 2])) }
      depth += file.code[line].count { $0 == "(" } - file.code[line].count { $0 == ")" }
      if depth <= 0 { return last }
    }
    return nil
  }

  /// Whether a text begins with a lower-case subject, a colon and a space.
  private static func isInvariantName(_ text: String) -> Bool {
    guard let first = text.first, first.isLowercase, let colon = text.firstRange(of: ": ") else {
      return false
    }
    return text[..<colon.lowerBound].allSatisfy { $0.isLowercase || $0 == " " }
  }
}
