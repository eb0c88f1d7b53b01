/// The rules of this package. Each rule is a function that returns the violations in a file.
enum Rules {
  static let maxFileLines = 800
  static let maxFunctionLines = 40
  /// The size of the largest file in bytes. Each clone has all versions of each file.
  static let maxFileBytes = 300_000

  /// Returns a violation if a file has too many bytes.
  static func fileSize(_ path: String, _ bytes: Int) -> [Breach] {
    guard bytes > maxFileBytes else { return [] }
    return [Breach(path: path, "\(bytes) bytes, at most \(maxFileBytes)")]
  }

  /// Returns a violation if a file is too long.
  ///
  /// A package has only one manifest, whose length follows from the number of its modules.
  static func fileLength(_ file: SourceFile) -> [Breach] {
    guard file.lines.count > maxFileLines, file.path != "Package.swift" else { return [] }
    return [Breach(file, maxFileLines, "\(file.lines.count) lines, at most \(maxFileLines)")]
  }

  static func functionLength(_ file: SourceFile) -> [Breach] {
    file.code.indices.compactMap { start in
      guard declaresFunction(file.code[start]), let end = bodyEnd(of: start, in: file.code),
        end - start >= maxFunctionLines
      else { return nil }
      return Breach(file, start, "\(end - start + 1) lines, at most \(maxFunctionLines)")
    }
  }

  private static let heads = ["init(", "init?(", "init<", "subscript(", "subscript<"]

  private static func declaresFunction(_ line: String) -> Bool {
    guard ["func", "init", "subscript"].contains(where: line.holds) else { return false }
    return line.split(separator: " ").contains { token in
      token == "func" || token == "deinit" || heads.contains { token.hasPrefix($0) }
    }
  }

  /// Returns the line of the brace that closes the body, which is in the same column as the
  /// declaration.
  ///
  /// Returns nil for a requirement without a body, and for a function on a single line.
  private static func bodyEnd(of start: Int, in code: [String]) -> Int? {
    let indent = code[start].prefix { $0 == " " }
    let end = code[(start + 1)...].firstIndex { line in
      let text = line.drop { $0 == " " }
      return line.count - text.count <= indent.count && !text.isEmpty
        && !text.hasPrefix(")") && !text.hasPrefix("{")
    }
    return end.flatMap { code[$0].hasPrefix(indent + "}") ? $0 : nil }
  }
}
