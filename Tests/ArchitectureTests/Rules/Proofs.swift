extension Rules {
  /// The texts that may appear in the proof column instead of a test.
  static let withoutTest = [
    "no test yet", "cannot be run here", "nothing to run", "measured: `make bench`, ",
  ]

  /// Returns the rows of a page of requirements that name neither a test nor a reason for its
  /// absence.
  ///
  /// A row reads `requirement | where | proof | note`; a proof is `` `name of a test` (File) ``.
  static func proofs(_ page: SourceFile) -> [Breach] {
    page.lines.enumerated().compactMap { line, text in
      guard text.hasPrefix("| "), !text.hasPrefix("| requirement |") else { return nil }
      let row = text.dropFirst().dropLast()
      let cells = row.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count == 4 else { return Breach(page, line, "\(cells.count) columns, not 4") }
      let isProven = cells[2].contains("Tests)") || withoutTest.contains { cells[2].contains($0) }
      return isProven ? nil : Breach(page, line, "`\(cells[2])` is neither a test nor a reason")
    }
  }

  /// Returns the tests that a page names as `` `name` (SomeTests) `` but that do not exist.
  static func namedTests(_ page: SourceFile, tests: [String: Set<String>]) -> [Breach] {
    page.lines.enumerated().flatMap { line, text -> [Breach] in
      let parts = text.split(separator: "`", omittingEmptySubsequences: false)
      return zip(parts, parts.dropFirst()).compactMap { name, rest in
        guard rest.hasPrefix(" ("), let end = rest.firstIndex(of: ")") else { return nil }
        let file = String(rest[..<end].dropFirst(2))
        guard file.hasSuffix("Tests"), file.allSatisfy({ $0.isLetter || $0.isNumber }),
          tests[file]?.contains(String(name)) != true
        else { return nil }
        return Breach(page, line, "\(file) has no test `\(name)`")
      }
    }
  }

  /// Returns the names of the tests in each file, by the file's name without its extension.
  static func tests(in files: [SourceFile]) -> [String: Set<String>] {
    var found: [String: Set<String>] = [:]
    for file in files where file.path.hasPrefix("Tests/") {
      let name = file.path.split(separator: "/").last.map { String($0.dropLast(".swift".count)) }
      found[name ?? file.path, default: []].formUnion(quotedNames(in: file))
    }
    return found
  }

  private static func quotedNames(in file: SourceFile) -> [String] {
    file.lines.compactMap { line in
      guard line.holds("func `"), let start = line.firstRange(of: "func `") else { return nil }
      let rest = line[start.upperBound...]
      return rest.firstIndex(of: "`").map { String(rest[..<$0]) }
    }
  }
}
