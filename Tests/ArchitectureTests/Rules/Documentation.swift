extension Rules {
  /// The keywords and names of declarations that need no documentation.
  private static let selfEvident = [
    "import", "extension", "init", "init?", "hash", "encode", "description", "debugDescription",
    "==", "<", "unownedExecutor",
  ]

  /// Returns the public declarations without a doc comment.
  ///
  /// Implementations of a requirement are exempt, since the protocol documents the requirement.
  ///
  /// - Parameter inherited: The names of the documented requirements.
  static func publicDocs(_ file: SourceFile, inherited: Set<String>) -> [Breach] {
    guard file.isUnder("Sources") else { return [] }
    return file.code.indices.filter { line in
      isPublic(file.code[line]) && !isDocumented(line, in: file)
        && inherited.isDisjoint(with: names(declaredIn: file.code[line]))
    }.map { Breach(file, $0, "public, and without a doc comment") }
  }

  /// Returns the names of the documented requirements of a file's public protocols.
  static func requirements(_ file: SourceFile) -> [String] {
    var isInside = false
    return file.code.indices.flatMap { line -> [String] in
      if file.code[line].hasPrefix("public protocol") { isInside = true }
      if file.code[line].hasPrefix("}") { isInside = false }
      return isInside && isDocumented(line, in: file) ? names(declaredIn: file.code[line]) : []
    }
  }

  /// Returns the names that follow `func` and `var`.
  private static func names(declaredIn line: String) -> [String] {
    let tokens = line.split { " (<:{".contains($0) }.map(String.init)
    return tokens.indices.dropLast().filter { ["func", "var"].contains(tokens[$0]) }
      .map { tokens[$0 + 1] }
  }

  private static func isPublic(_ line: String) -> Bool {
    guard Ban("public", "").matches(line) else { return false }
    let tokens = line.split { " (<:{".contains($0) }.map(String.init)
    let operators = line.split(separator: " ").map { $0.prefix { $0 != "(" } }
    return !selfEvident.contains { tokens.contains($0) || operators.contains($0[...]) }
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

  /// Returns the invariants whose name is already in use. Unique names identify a failed check.
  ///
  /// The name is the last argument of `check.require(` and ends a line.
  static func repeatedInvariants(_ files: [SourceFile]) -> [Breach] {
    var known: Set<String> = []
    return files.filter { $0.isUnder("Sources") }.flatMap { file -> [Breach] in
      guard file.code.contains(where: { $0.holds("check.require(") }) else { return [] }
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
