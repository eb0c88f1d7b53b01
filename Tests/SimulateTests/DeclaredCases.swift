import Foundation

/// Functions that read the cases of an enumeration in its source.
enum DeclaredCases {
  /// Returns the names of the cases of a nested enumeration, in the form `Input.send`.
  static func of(_ name: String, in path: String) throws -> [String] {
    let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = lines.firstIndex(where: { $0.hasPrefix("  public enum \(name):") }) else {
      return []
    }
    return lines[first...].prefix { $0 != "  }" }.compactMap { line in
      guard line.hasPrefix("    case ") else { return nil }
      return name + "." + line.dropFirst(9).prefix { $0.isLetter || $0.isNumber }
    }
  }

  /// The folder of the package.
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../..").standardizedFileURL
}

/// A function that returns the name of a value's case.
enum CaseName {
  /// Returns a name such as `Input.send`.
  static func of(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    let name = mirror.children.first?.label ?? "\(value)"
    return "\(mirror.subjectType)." + name
  }
}
