import Foundation
import Testing

/// Tests of the rules that neither the compiler nor the formatter enforces, over every file.
@Suite struct ArchitectureTests {
  let tree = Tree.here

  @Test func `the whole tree is read`() {
    #expect(tree.file("Package.swift") != nil)
    #expect(tree.swift.contains { $0.isUnder("Sources/Base/Core") })
  }

  @Test func `pure modules contain only values, and name each case of an enumeration`() throws {
    let manifest = try #require(tree.file("Package.swift"))
    let folders = BuildGraph.pureFolders(in: manifest)
    #expect(folders.contains("Sources/Base/Core") && folders.contains("Sources/Simulator/Kernel"))
    let pure = tree.swift.filter { file in folders.contains { file.isUnder($0) } }
    #expect(pure.flatMap(Rules.purity) == [])
    #expect(pure.flatMap(Rules.wildcards) == [])
  }

  @Test func `shared modules name no feature`() {
    #expect(tree.swift.flatMap(Rules.featuresNamed) == [])
  }

  @Test func `files have at most 800 lines`() {
    #expect(tree.swift.flatMap(Rules.fileLength) == [])
  }

  @Test func `files have at most 300 kB`() {
    #expect(tree.sizes["docs/images/demo.png"] != nil)
    #expect(tree.sizes.flatMap { Rules.fileSize($0.key, $0.value) } == [])
  }

  @Test func `the joined pages match their sources in Web`() throws {
    let run = try tree.run("scripts/web", "--check")
    #expect(run.status == 0, "\(run.output)")
  }

  #if os(Linux)
    @Test(.enabled(if: Tree.here.exists(".git"), "needs the list of files of a checkout"))
    func `scripts/check knows which suites each file needs`() throws {
      let run = try tree.run("scripts/check", "--self-test")
      #expect(run.status == 0, "\(run.output)")
    }
  #endif

  @Test func `functions have at most 40 lines`() {
    #expect(tree.swift.flatMap(Rules.functionLength) == [])
  }

  @Test func `no code bypasses the compiler's checks`() {
    #expect(tree.swift.flatMap(Rules.safety) == [])
  }

  @Test func `adapters of Apple's frameworks have no timers`() {
    #expect(tree.swift.flatMap(Rules.noDecisions) == [])
  }

  @Test func `no comment marks unfinished work`() {
    #expect(tree.swift.flatMap(Rules.nothingLeftOver) == [])
  }

  @Test func `tests wait for events and never sleep`() {
    #expect(tree.swift.flatMap(Rules.noSleep) == [])
  }

  @Test func `no two invariants have the same name`() {
    #expect(Rules.repeatedInvariants(tree.swift) == [])
  }

  @Test func `public declarations are documented`() {
    let inherited = Set(tree.swift.flatMap(Rules.requirements))
    #expect(inherited.contains("deadline"))
    #expect(tree.swift.flatMap { Rules.publicDocs($0, inherited: inherited) } == [])
  }

  @Test func `relative links lead to existing files`() {
    #expect(tree.markdown.flatMap { Rules.links($0, exists: tree.exists) } == [])
  }

  @Test func `no file names a path of a developer's machine`() {
    #expect(tree.files.flatMap(Rules.noWorkplace) == [])
  }

  @Test func `ARCHITECTURE.md names every module`() throws {
    let map = try #require(tree.file("ARCHITECTURE.md"))
    let graph = BuildGraph(try #require(tree.file("Package.swift")))
    let folders = graph.folders.values.filter { !$0.hasPrefix("Base/System/") }
    #expect(folders.count > 80)
    #expect(Rules.mapped(folders.sorted(), on: map) == [])
  }

  @Test func `no module has more than 10,000 lines`() throws {
    let graph = BuildGraph(try #require(tree.file("Package.swift")))
    let long = graph.folders.values.filter { folder in
      let files = tree.swift.filter { $0.isUnder("Sources/\(folder)") }
      return files.reduce(0) { $0 + $1.lines.count } > 10_000
    }
    #expect(long == [])
  }
}
