import Foundation
import HoldfastLinkTrace
import Testing

@Suite struct ReasonTests {
  @Test func `the page has a title for each reason, and no title for another word`() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Web/picture/reasons.js").standardizedFileURL
    let text = try String(contentsOf: file, encoding: .utf8)
    let from = try #require(text.range(of: "const titles = new Map(Object.entries({\n"))
    let to = try #require(text.range(of: "}));", range: from.upperBound..<text.endIndex))
    let names = text[from.upperBound..<to.lowerBound].split(separator: "\n").compactMap { line in
      line.wholeMatch(of: #/  '?([\w ]+?)'?: '[^']+',/#).map { String($0.1) }
    }
    // The title of silence contains its length.
    #expect(text.contains("why === 'silent'"))
    let words = TraceReason.allCases.map(\.rawValue).filter { $0 != "silent" }
    #expect(names.sorted() == words.sorted())
  }
}
