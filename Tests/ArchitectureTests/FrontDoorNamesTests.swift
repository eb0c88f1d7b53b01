import Testing

/// Tests of the names that `import Holdfast` brings into an app's file.
@Suite struct FrontDoorNamesTests {
  /// The maximum number of names.
  private static let limit = 80

  /// Common words, which other modules use for their own types. An exported name would replace them
  /// in silence.
  private static let common: Set<String> = [
    "Message", "Cursor", "Position", "Gap", "Delivery", "Via", "Store", "Central", "Wake", "Secret",
    "Chance", "Instant", "Schedule", "Verdict", "Obstacle", "Breaker", "Stability", "Lifecycle",
    "Reachability", "Drink", "Platform", "Outbox", "Token", "Device", "Event", "Session", "Link",
  ]

  @Test func `an app sees at most 80 names, and none is a common word`() throws {
    let names = try Self.names(of: ["HoldfastSocket", "Holdfast"])
    #expect(names.count > 40)
    #expect(names.count <= Self.limit, "\(names.sorted())")
    #expect(names.intersection(Self.common) == [])
  }

  @Test func `names of other modules are exported one by one`() {
    for file in Tree.here.files
    where file.isUnder("Sources/Holdfast") || file.isUnder("Sources/HoldfastSocket") {
      for line in file.lines where line.hasPrefix("@_exported") {
        let words = line.split(separator: " ")
        let isWhole = words.count == 4
        #expect(
          !isWhole || words.last == "HoldfastSocket" && file.isUnder("Sources/Holdfast"),
          "\(file.path): \(line)")
      }
    }
  }

  @Test func `the landing page lists types under names that an app can spell`() throws {
    let page = try #require(Tree.here.file("Sources/Holdfast/Holdfast.docc/Holdfast.md"))
    let names = try Self.names(of: ["HoldfastSocket", "Holdfast"])
    let nested = try Self.nestedNames()
    let link = #/^- ``(\w+)(?:/(\w+))?``$/#
    for line in page.lines {
      // The rest is the pages of the types behind the nested names.
      if line == "### Pages of types with nested names" { return }
      guard let match = try link.firstMatch(in: line) else { continue }
      #expect(names.contains(String(match.1)), "\(line)")
      if let name = match.2 { #expect(nested.contains("\(match.1).\(name)"), "\(line)") }
    }
    Issue.record("the page has no list of the types behind nested names")
  }

  @Test func `a file with an adapter can name every type on the page of the ports`() throws {
    let page = try #require(
      Tree.here.file("Sources/Base/Ports/HoldfastPorts.docc/HoldfastPorts.md"))
    let names = try Self.names(of: ["Base/Ports", "Base/FeaturePorts"])
    let listed = try Set(
      page.lines.compactMap { try #/^- ``(\w+)``$/#.firstMatch(in: $0).map { String($0.1) } })
    #expect(listed.count > 100)
    // The error of a parser, which no port throws.
    #expect(listed.subtracting(names) == ["FieldFault"])
  }

  /// Returns the names that `Names.swift` declares in exported types.
  private static func nestedNames() throws -> Set<String> {
    let file = try #require(Tree.here.file("Sources/Holdfast/Names.swift"))
    var (names, type): (Set<String>, Substring) = ([], "")
    for line in file.lines {
      if let match = try #/^extension (\w+) \{$/#.firstMatch(in: line) { type = match.1 }
      if let match = try #/^  public typealias (\w+) =/#.firstMatch(in: line) {
        names.insert("\(type).\(match.1)")
      }
    }
    return names
  }

  /// Returns the public top-level names that modules declare, and those that they export.
  private static func names(of modules: [String]) throws -> Set<String> {
    let declaration =
      #/^public (?:final |indirect )?(?:struct|class|enum|protocol|actor|typealias) (\w+)/#
    let export = #/^@_exported public import \w+ \w+\.(\w+)$/#
    var names: Set<String> = []
    for file in Tree.here.files where modules.contains(where: { file.isUnder("Sources/\($0)") }) {
      for line in file.lines {
        if let match = try declaration.firstMatch(in: line) { names.insert(String(match.1)) }
        if let match = try export.firstMatch(in: line) { names.insert(String(match.1)) }
      }
    }
    return names
  }
}
