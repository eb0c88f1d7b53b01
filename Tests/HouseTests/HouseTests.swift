import Testing

/// The rules of the house, held against every file of the package.
@Suite struct HouseTests {
  let tree = Tree.here

  @Test func `the whole tree is read`() {
    #expect(tree.file("Package.swift") != nil)
    #expect(tree.swift.contains { $0.isUnder("Sources/Core") })
  }

  @Test func `pure folders hold values only`() {
    #expect(tree.swift.flatMap(Rules.purity) == [])
  }

  @Test func `pure folders import only what they stand on`() throws {
    let manifest = try #require(tree.file("Package.swift"))
    let features = Rules.features(in: manifest)
    #expect(tree.swift.flatMap { Rules.pureImports($0, features: features) } == [])
    let rooms = Rules.pureRooms(in: manifest)
    #expect(rooms.contains("Sources/Core") && rooms.contains("Sources/Simulator"))
    #expect(
      rooms.filter { room in !Rules.pureFolders.contains { (room + "/").hasPrefix($0 + "/") } }
        == [])
  }

  @Test func `no enum of ours is matched with a wildcard`() {
    let enums = Rules.enums(in: tree.swift)
    #expect(enums.contains(["foreground", "background"]))
    #expect(tree.swift.flatMap { Rules.wildcards($0, enums: enums) } == [])
  }

  @Test func `shared rooms name no feature`() {
    let found = tree.swift.flatMap(Rules.featuresNamed)
    #expect(found.filter { !Rules.isMoving($0.path) } == [])
  }

  @Test func `no exception outlives its reason`() {
    let named = tree.swift.flatMap(Rules.featuresNamed).map(\.path)
    #expect(
      Rules.moving.filter { rule in !named.contains { $0.hasPrefix(rule.path) } }.map(\.path) == [])
  }

  @Test func `adapters import no feature`() throws {
    let features = Rules.features(in: try #require(tree.file("Package.swift")))
    #expect(features.contains("MessageStream"))
    #expect(tree.swift.flatMap { Rules.adapterImports($0, features: features) } == [])
  }

  @Test func `files have at most 400 lines`() {
    #expect(tree.swift.flatMap(Rules.fileLength) == [])
  }

  @Test func `functions have at most 40 lines`() {
    #expect(tree.swift.flatMap(Rules.functionLength) == [])
  }

  @Test func `nothing escapes the compiler's checks`() {
    #expect(tree.swift.flatMap(Rules.safety) == [])
  }

  @Test func `no comment says that something is still to be done`() {
    #expect(tree.files.flatMap(Rules.nothingLeftOver) == [])
  }

  @Test func `tests wait for events and never sleep`() {
    #expect(tree.swift.flatMap(Rules.noSleep) == [])
  }

  @Test func `no two invariants have the same name`() {
    #expect(Rules.repeatedInvariants(tree.swift) == [])
  }

  @Test func `tests are named by sentences`() {
    #expect(tree.swift.flatMap(Rules.testNames) == [])
  }

  @Test func `public declarations are documented`() {
    let inherited = Set(tree.swift.flatMap(Rules.requirements))
    #expect(inherited.contains("deadline"))
    #expect(tree.swift.flatMap { Rules.publicDocs($0, inherited: inherited) } == [])
  }

  @Test func `pages have one title`() {
    #expect(tree.markdown.flatMap(Rules.oneTitle) == [])
  }

  @Test func `relative links lead somewhere`() {
    #expect(tree.markdown.flatMap { Rules.links($0, exists: tree.exists) } == [])
  }

  @Test func `no text names a path of the machine it was written on`() {
    #expect(tree.files.flatMap(Rules.noWorkplace) == [])
  }

  @Test(.enabled(if: Tree.here.exists("ARCHITECTURE.md"), "there is no map yet"))
  func `every room is on the map`() throws {
    let map = try #require(tree.file("ARCHITECTURE.md"))
    let rooms = tree.folders(in: "Sources")
    let inner = ["Features", "Adapters", "Tools"].flatMap { room in
      tree.folders(in: "Sources/\(room)").map { "\(room)/\($0)" }
    }
    #expect(Rules.mapped(rooms + inner, on: map) == [])
  }
}
