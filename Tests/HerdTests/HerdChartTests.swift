import HoldfastCore
import HoldfastHerd
import Testing

@Suite struct HerdChartTests {
  private let results = ([Herd.policy(.messageStream)] + Naive.allCases.map(Herd.naive)).map {
    $0.play(HerdPlan(clients: 200, outage: Outage(.close, for: .seconds(90))))
  }

  @Test func `draws each fleet, with a description for screen readers`() {
    let svg = HerdChart(results).svg
    #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
    #expect(svg.contains("role=\"img\" aria-labelledby=\"title desc\""))
    #expect(svg.contains("<title id=\"title\">message-stream: 200 clients after an outage of 90s"))
    for result in results {
      // The name occurs in the description and in the legend.
      #expect(svg.matches(of: result.name) >= 2, "\(result.name)")
    }
    // Each fleet has two curves in each of two panels, and one mark in the legend.
    #expect(svg.matches(of: "<polyline") == results.count * 5)
    #expect(svg.contains("prefers-color-scheme: dark"))
    #expect(!svg.contains("<script") && !svg.contains("href"))
  }

  @Test func `closes every element, and stays within the view box`() {
    for length in [0, 60, 61, 600] {
      let plan = HerdPlan(clients: 50, outage: Outage(.crash, for: .seconds(length)))
      let svg = HerdChart([Herd.policy(.session).play(plan)]).svg
      for name in ["svg", "title", "desc", "style", "text"] {
        #expect(svg.matches(of: "<\(name)") == svg.matches(of: "</\(name)>"), "\(name)")
      }
      #expect(!svg.contains("nan") && !svg.contains("inf") && !svg.contains("\"-"))
    }
  }

  @Test func `escapes special characters in names`() throws {
    var result = results[0]
    result.name = "<mine & \"yours\">"
    let svg = HerdChart([result]).svg
    #expect(svg.contains("&lt;mine &amp; &quot;yours&quot;&gt;"))
    #expect(!svg.contains("<mine"))
  }

  @Test func `formats numbers for people`() {
    #expect(
      [0, 999, 1000, 1_234_567, -1000].map(HerdText.number) == [
        "0", "999", "1,000", "1,234,567", "-1,000",
      ])
    #expect(HerdText.seconds(.milliseconds(31_249)) == "31.2s")
    #expect(HerdText.seconds(.milliseconds(31_250)) == "31.3s")
    #expect(HerdText.share(203, of: 1000) == "20.3%")
    #expect(
      [1, 18, 19, 36, 37, 90].map { HerdText.step(for: $0, rows: 18) } == [1, 1, 2, 2, 5, 5])
  }
}

extension String {
  fileprivate func matches(of part: String) -> Int {
    split(separator: part, omittingEmptySubsequences: false).count - 1
  }
}
