extension Rules {
  /// Declarations that say all by their shape.
  private static let selfEvident = [
    "import", "extension", "init", "init?", "hash", "encode", "description", "debugDescription",
    "==", "<", "unownedExecutor",
  ]

  /// Whoever reads the interface learns what each part of it is for.
  ///
  /// What a protocol of ours requires is documented there: `inherited` are such names.
  static func publicDocs(_ file: SourceFile, inherited: Set<String>) -> [Breach] {
    guard file.isUnder("Sources") else { return [] }
    return file.code.indices.filter { line in
      isPublic(file.code[line]) && !isDocumented(line, in: file)
        && inherited.isDisjoint(with: names(declaredIn: file.code[line]))
    }.map { Breach(file, $0, "public, and without a doc comment") }
  }

  /// The documented requirements of a file's public protocols.
  static func requirements(_ file: SourceFile) -> [String] {
    var isInside = false
    return file.code.indices.flatMap { line -> [String] in
      if file.code[line].hasPrefix("public protocol") { isInside = true }
      if file.code[line].hasPrefix("}") { isInside = false }
      return isInside && isDocumented(line, in: file) ? names(declaredIn: file.code[line]) : []
    }
  }

  /// The names after `func` and `var`.
  private static func names(declaredIn line: String) -> [String] {
    let words = line.split { " (<:{".contains($0) }.map(String.init)
    return words.indices.dropLast().filter { ["func", "var"].contains(words[$0]) }
      .map { words[$0 + 1] }
  }

  private static func isPublic(_ line: String) -> Bool {
    guard Ban("public", "").matches(line) else { return false }
    let words = line.split { " (<:{".contains($0) }.map(String.init)
    let operatorsKept = line.split(separator: " ").map { $0.prefix { $0 != "(" } }
    return !selfEvident.contains { words.contains($0) || operatorsKept.contains($0[...]) }
  }

  private static func isDocumented(_ line: Int, in file: SourceFile) -> Bool {
    var above = line - 1
    while above >= 0 {
      let text = file.lines[above].drop { $0 == " " }
      if text.hasPrefix("///") { return true }
      guard text.hasPrefix("@") || text.hasPrefix("#if") || text.hasPrefix("// ") else {
        return false
      }
      above -= 1
    }
    return false
  }

  /// No two invariants of the package have the same name: what is broken tells where.
  ///
  /// An invariant is named by the last argument of `check.require(`, which ends a line.
  static func repeatedInvariants(_ files: [SourceFile]) -> [Breach] {
    var known: Set<String> = []
    return files.filter { $0.isUnder("Sources") }.flatMap { file -> [Breach] in
      guard file.code.contains(where: { $0.contains("check.require(") }) else { return [] }
      return file.lines.indices.compactMap { line in
        let parts = file.lines[line].split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count >= 3, [")", ""].contains(parts[parts.count - 1]),
          parts[parts.count - 2].contains(": "),
          !known.insert(String(parts[parts.count - 2])).inserted
        else { return nil }
        return Breach(file, line, "another invariant has this name: \(parts[parts.count - 2])")
      }
    }
  }
}
