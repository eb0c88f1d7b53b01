extension Rules {
  /// What stands in the proof's column where no test does; each is said in these words.
  static let withoutTest = [
    "no test yet", "cannot be run here", "nothing to run", "measured: `make bench`, ",
  ]

  /// Each row of a seed's page names tests that exist, or says in fixed words why none does.
  ///
  /// A row reads `requirement | where | proof | note`; a proof is `` `name of a test` (File) ``,
  /// several are joined by semicolons, and one of the fixed words may stand among them.
  static func proofs(_ page: SourceFile, tests: [String: Set<String>]) -> [Breach] {
    rows(of: page).flatMap { line, cells -> [Breach] in
      guard cells.count == 4 else { return [Breach(page, line, "\(cells.count) columns, not 4")] }
      return proofs(in: cells[2]).compactMap { proof in
        what(isWrongWith: proof.trimmed, tests: tests).map { Breach(page, line, $0) }
      }
    }
  }

  /// The names of the tests of each file, by the file's name without its ending.
  static func tests(in files: [SourceFile]) -> [String: Set<String>] {
    var found: [String: Set<String>] = [:]
    for file in files where file.path.hasPrefix("Tests/") {
      let name = file.path.split(separator: "/").last.map { String($0.dropLast(".swift".count)) }
      found[name ?? file.path, default: []].formUnion(quotedNames(in: file))
    }
    return found
  }

  /// The parts between semicolons, where these stand outside the name of a test.
  private static func proofs(in cell: String) -> [Substring] {
    var isName = false
    return cell.split(omittingEmptySubsequences: false) { character in
      if character == "`" { isName.toggle() }
      return character == ";" && !isName
    }
  }

  private static func quotedNames(in file: SourceFile) -> [String] {
    file.named.compactMap { line in
      guard let start = line.firstRange(of: "func `") else { return nil }
      let rest = line[start.upperBound...]
      return rest.firstIndex(of: "`").map { String(rest[..<$0]) }
    }
  }

  private static func what(isWrongWith proof: String, tests: [String: Set<String>]) -> String? {
    if withoutTest.contains(where: proof.hasPrefix) { return nil }
    let parts = proof.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, parts[0].isEmpty, parts[2].hasPrefix(" ("), parts[2].hasSuffix(")")
    else { return "`\(proof)` is neither a test nor a reason" }
    let file = String(parts[2].dropFirst(2).dropLast())
    guard let names = tests[file] else { return "there is no file \(file) among the tests" }
    return names.contains(parts[1]) ? nil : "\(file) has no test `\(parts[1])`"
  }

  /// The rows of all tables with their cells, without head and ruler.
  private static func rows(of page: SourceFile) -> [(line: Int, cells: [String])] {
    var isTable = false
    return page.lines.enumerated().compactMap { line, text in
      guard text.hasPrefix("|") else {
        isTable = false
        return nil
      }
      if text.hasPrefix("|---") { isTable = true }
      guard isTable, !text.hasPrefix("|---") else { return nil }
      let cells = text.dropFirst().split(separator: "|", omittingEmptySubsequences: false)
      return (line, cells.dropLast().map(\.trimmed))
    }
  }
}

extension Substring {
  fileprivate var trimmed: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

extension Rules {
  /// Wherever a page names a test as `` `name` (SomeTests) ``, there is one.
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
}
