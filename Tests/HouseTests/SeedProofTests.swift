import Testing

/// What the pages about the seeds call proven has a test of that name.
@Suite struct SeedProofTests {
  let tree = Tree.here

  @Test func `each proof of a seed's page exists`() {
    let pages = tree.markdown.filter { $0.isUnder("docs/seeds") }
    let tests = Rules.tests(in: tree.swift)
    #expect(!pages.isEmpty)
    #expect(tests["SeedProofTests"]?.contains("each proof of a seed's page exists") == true)
    #expect(pages.flatMap { Rules.proofs($0, tests: tests) } == [])
  }

  @Test func `each test that a page names exists`() {
    let tests = Rules.tests(in: tree.swift)
    #expect(tree.markdown.flatMap { Rules.namedTests($0, tests: tests) } == [])
  }

  @Test func `finds a test that is named and does not exist`() {
    let page = SourceFile(
      path: "A.md",
      text:
        "# A\n| 1 | `it holds` (ATests); `it flies` (ATests) |\n`x` (see B) `it holds` (CTests)\n")
    #expect(Rules.namedTests(page, tests: ["ATests": ["it holds"]]).map(\.line) == [2, 3])
  }

  @Test func `finds a proof that is none`() {
    let page = SourceFile(
      path: "docs/seeds/000.md",
      text: """
        # A
        | requirement | where | proof | note |
        |---|---|---|---|
        | a | b | `it holds` (ATests) | |
        | a | b | `it holds; really` (ATests); no test yet for the rest | c |
        | a | b | `it does not` (ATests) | |
        | a | b | `it holds` (BTests) | |
        | a | b | surely | |
        | a | b |  | |
        | a | `it holds` (ATests) | |
        """)
    let tests = Rules.tests(in: [
      SourceFile(
        path: "Tests/Some/ATests.swift",
        text: "@Test func `it holds`() {}\nfunc `it holds; really`() {}\n")
    ])
    #expect(Rules.proofs(page, tests: tests).map(\.line) == [6, 7, 8, 9, 10])
  }
}
