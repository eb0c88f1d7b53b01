import Foundation

/// The names of an enumeration's cases, parsed from its source file.
///
/// Swift cannot list cases with payloads. A table that lacks a new case must nevertheless fail its
/// test.
enum EnumCases {
  /// Returns the names of the cases of the enumeration `name` in a file under `Sources`.
  static func declared(_ name: String, in path: String) throws -> Set<String> {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: root.appending(path: "Sources/\(path)"), encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let body = lines.drop { !$0.contains("enum \(name):") }.dropFirst().prefix { $0 != "}" }
    let cases = body.filter { $0.hasPrefix("  case ") }.flatMap { line in
      // Several cases on one line have no payloads.
      let rest = line.dropFirst(7)
      return rest.contains("(") ? [rest] : rest.split(separator: ",")
    }
    return Set(
      cases.map { $0.drop { $0 == " " }.prefix { $0.isLetter || $0.isNumber } }.map(String.init))
  }

  /// Returns the names of the cases of the given values.
  static func used<Value>(by values: [Value]) -> Set<String> {
    Set(values.map { Mirror(reflecting: $0).children.first?.label ?? "\($0)" })
  }
}
