import Foundation
import Testing

@testable import HoldfastHealth

/// Tests of the units that the page with charts knows.
@Suite struct UnitWordTests {
  @Test func `the page has a word for each unit of answers, and for no other`() throws {
    let package = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let file = package.appending(path: "Web/charts/measures.js")
    let text = try String(contentsOf: file, encoding: .utf8)
    let from = try #require(text.range(of: "const units = {\n"))
    let to = try #require(text.range(of: "\n};", range: from.upperBound..<text.endIndex))
    let known = text[from.upperBound..<to.lowerBound].matches(of: #/(\w+): '/#).map { match in
      String(match.1)
    }
    // The name of a score is also its word.
    let units = Set(Dimension.allCases.map(\.unit)).subtracting(["score"])
    #expect(known.sorted() == units.sorted())
  }
}
