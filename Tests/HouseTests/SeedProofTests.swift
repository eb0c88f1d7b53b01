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

  @Test func `finds a proof that is none`() {
    let page = SourceFile(
      path: "docs/seeds/000.md",
      text: """
        # A
        | requirement | where | proof | note |
        |---|---|---|---|
        | a | b | `it holds` (ATests) | |
        | a | b | `it holds` (ATests); no test yet for the rest | c |
        | a | b | `it does not` (ATests) | |
        | a | b | `it holds` (BTests) | |
        | a | b | surely | |
        | a | b |  | |
        | a | `it holds` (ATests) | |
        """)
    let tests = Rules.tests(in: [
      SourceFile(path: "Tests/Some/ATests.swift", text: "@Test func `it holds`() {}\n")
    ])
    #expect(Rules.proofs(page, tests: tests).map(\.line) == [6, 7, 8, 9, 10])
  }
}
