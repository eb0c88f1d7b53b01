extension Rules {
  /// Each invariant that a type states is named by a test, which shows that it can fail.
  ///
  /// An invariant is named by a string literal such as `"link: it is idle"` in a file that checks.
  static func invariants(_ file: SourceFile, tests: [SourceFile]) -> [Breach] {
    guard file.isUnder("Sources"), file.code.contains(where: { $0.contains("check.require(") })
    else { return [] }
    return file.lines.enumerated().compactMap { index, line in
      guard let name = invariantName(in: line) else { return nil }
      let literal = "\"\(name)\""
      guard !tests.contains(where: { $0.text.contains(literal) }) else { return nil }
      return Breach(file, index, "no test shows that this can fail: \(name)")
    }
  }

  /// The literal of a line that begins with a lower-case subject, a colon and a space.
  private static func invariantName(in line: String) -> String? {
    let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
    guard parts.count >= 3, let first = parts[1].first, first.isLowercase,
      let colon = parts[1].firstRange(of: ": "),
      parts[1][..<colon.lowerBound].allSatisfy({ $0.isLowercase || $0 == " " })
    else { return nil }
    return String(parts[1])
  }
}
