import Testing

/// Tests that every test named as a proof in the documents exists.
@Suite struct SeedProofTests {
  let tree = Tree.here

  @Test func `each row of a page of requirements names a test or a reason for none`() {
    let pages = tree.markdown.filter { $0.isUnder("docs/requirements") }
    #expect(!pages.isEmpty)
    #expect(pages.flatMap(Rules.proofs) == [])
  }

  @Test func `each test that a page names exists`() {
    let tests = Rules.tests(in: tree.swift)
    #expect(tests["SeedProofTests"]?.contains("each test that a page names exists") == true)
    #expect(tree.markdown.flatMap { Rules.namedTests($0, tests: tests) } == [])
  }
}
