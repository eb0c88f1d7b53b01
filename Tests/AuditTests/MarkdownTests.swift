import HoldfastSessionAudit
import Testing

@Suite struct MarkdownTests {
  private static let lines = PretendAudit.report(.session, [.noBatch, .noSizeAck]).markdown

  /// Returns the cells of each row of the summary.
  private static func rows() -> [[String]] {
    lines.filter { $0.hasPrefix("| ") }.map { line in
      line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
    }
  }

  @Test func `the table has 13 rows and a total that adds up`() throws {
    let rows = Self.rows()
    #expect(rows.first == ["Category", "Reviewed", "Gaps Found", "Recommendations"])
    let body = rows.dropFirst()
    #expect(body.map { $0[0] } == PracticeCategory.allCases.map(\.rawValue) + ["Total"])
    let total = try #require(body.last)
    for column in [2, 3] {
      let sum = body.dropLast().compactMap { Int($0[column]) }.reduce(0, +)
      #expect(total[column] == "\(sum)")
    }
    let reviewed = body.map { $0[1].split(separator: "/").compactMap { Int($0) } }
    #expect(reviewed.dropLast().map { $0[0] }.reduce(0, +) == reviewed.last?[0])
    #expect(reviewed.last?[1] == 40)
    #expect(total[2] == "3")
  }

  @Test func `each practice has a heading and a status, in order`() {
    let headings = Self.lines.indices.filter { Self.lines[$0].hasPrefix("#### ") }
    #expect(
      headings.map { Self.lines[$0] } == Practice.all.map { "#### \($0.number). \($0.title)" })
    let statuses = Set(PracticeVerdict.allCases.map { "**Status**: \($0.status)" })
    #expect(headings.allSatisfy { statuses.contains(Self.lines[$0 + 1]) })
    #expect(
      Self.lines.filter { $0.hasPrefix("### ") }.prefix(13)
        == PracticeCategory.allCases.map { "### \($0.heading)" }[...])
  }

  @Test func `a server's text creates no heading and no markup`() {
    let report = AuditReport(server: "a server") { _ in Finding(.missing, "a\n# b `c` <d> [e](f)") }
    #expect(report.markdown.contains { $0.contains(#"a # b \`c\` \<d\> \[e\](f)"#) })
  }
}
