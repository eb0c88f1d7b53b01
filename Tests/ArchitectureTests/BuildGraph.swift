/// The dependencies between targets and the targets of each product, as declared in the manifest.
///
/// The graph is parsed from the manifest's text, in which each target and each product is one call
/// with literals. It includes the dependencies for every platform.
struct BuildGraph {
  /// The targets that each target depends on directly.
  private(set) var uses: [String: Set<String>] = [:]
  /// For each of this package's targets, its folder under `Sources`, such as `Base/Core`.
  private(set) var folders: [String: String] = [:]
  /// The targets that each product contains.
  private(set) var products: [String: Set<String>] = [:]

  private static let makers = [
    "library(", "played(", "tests(", "system(", ".target(", ".executableTarget(", ".testTarget(",
  ]
  private static let productMakers = [".library(", ".executable("]

  init(_ manifest: SourceFile) {
    let lines = manifest.lines.filter { !($0.drop { $0 == " " }.hasPrefix("//")) }
    let text = lines.joined(separator: "\n")
    for maker in Self.makers {
      for (name, parts) in Self.calls(of: maker, in: text) {
        let used = parts.filter { $0.hasPrefix("uses:") || $0.hasPrefix("dependencies:") }
        uses[name, default: []].formUnion(used.flatMap(Self.literals))
        let folder = parts.first { $0.hasPrefix("at:") || $0.hasPrefix("path: \"Sources/") }
        guard let path = folder.flatMap({ Self.literals($0).first }) else { continue }
        folders[name] = String(path.trimmingPrefix("Sources/"))
      }
    }
    for maker in Self.productMakers {
      for (name, parts) in Self.calls(of: maker, in: text) {
        let targets = parts.filter { $0.hasPrefix("targets:") }.flatMap(Self.literals)
        products[name, default: []].formUnion(targets)
      }
    }
  }

  /// Returns the folders of the modules that the manifest lists as pure, such as `Sources/Base/Core`.
  static func pureFolders(in manifest: SourceFile) -> [String] {
    let lines = manifest.lines.drop { !$0.hasPrefix("let pure: ") }.prefix { $0 != "]" }
    return lines.joined(separator: " ").split(separator: "at: \"").dropFirst().compactMap { part in
      part.split(separator: "\"").first.map { "Sources/" + String($0) }
    }
  }

  /// Returns the given targets and all their direct and transitive dependencies.
  func closure(of targets: Set<String>) -> Set<String> {
    var found: Set<String> = []
    var waiting = Array(targets)
    while let next = waiting.popLast() {
      if found.insert(next).inserted { waiting += uses[next] ?? [] }
    }
    return found
  }

  /// Returns the targets that depend on a target, directly or transitively.
  func users(of target: String) -> Set<String> {
    Set(uses.keys.filter { $0 != target && closure(of: [$0]).contains(target) })
  }

  /// Returns the name and the arguments of each call whose first argument is a literal.
  ///
  /// The declarations of these functions are skipped, since their first argument is a parameter.
  private static func calls(of maker: String, in text: String) -> [(String, [String])] {
    text.ranges(of: maker).compactMap { range in
      if !maker.hasPrefix("."), let before = text[..<range.lowerBound].last,
        before == "." || before.isLetter
      {
        return nil
      }
      let parts = arguments(text[range.upperBound...])
      guard let first = parts.first, let name = literals(first).first else { return nil }
      return (name, parts)
    }
  }

  /// Returns the arguments of a call, up to its closing parenthesis.
  private static func arguments(_ text: Substring) -> [String] {
    var parts = [""]
    var depth = 0
    for character in text {
      if "([".contains(character) { depth += 1 }
      if ")]".contains(character) { depth -= 1 }
      if depth < 0 { break }
      if character == ",", depth == 0 {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    return parts.map { String($0.drop(while: \.isWhitespace)) }
  }

  private static func literals(_ text: String) -> [String] {
    text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }
}
