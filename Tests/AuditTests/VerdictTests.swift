import SessionAudit
import Testing

@Suite struct VerdictTests {
  @Test func `there are 40 practices in order, in 13 categories`() {
    #expect(Practice.all.map(\.number) == Array(1...40))
    #expect(PracticeCategory.allCases.count == 13)
    #expect(PracticeCategory.allCases.flatMap(\.practices) == Practice.all)
  }
}
