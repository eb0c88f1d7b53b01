import HoldfastPages
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

/// Tests of pages and of the values that are inserted into them.
@Suite struct PageTests {
  private func replaced(
    _ text: String, _ values: [String: String]
  ) throws(Placeholders.Fault) -> String {
    String(
      decoding: try Placeholders.replaced(in: [UInt8](text: text), with: values), as: UTF8.self)
  }

  @Test func `each placeholder is replaced by its value`() throws {
    #expect(try replaced("", [:]) == "")
    #expect(try replaced("{{a}}", ["a": "é"]) == "é")
    #expect(try replaced("<{{a}}{{bC_2}}>{{a}}", ["a": "1", "bC_2": ""]) == "<1>1")
  }

  @Test func `a value is not searched for placeholders`() throws {
    #expect(try replaced("{{a}}{{b}}", ["a": "{{b}}", "b": "{{a}}"]) == "{{b}}{{a}}")
    #expect(try replaced("{{a}}b}}", ["a": "{{"]) == "{{b}}")
  }

  @Test(arguments: [
    "{", "{{", "{{a", "{{a}", "{{a} }", "{a}}", "{{}}", "{{ a}}", "{{A}}", "{{_a}}", "{{1}}",
    "{{é}}", "{{a-b}}", "{{a: b}}", "}}{{",
  ])
  func `other text in braces is kept`(text: String) throws {
    #expect(try replaced(text, [:]) == text)
    #expect(try replaced(text + "{{a}}" + text, ["a": "1"]) == text + "1" + text)
  }

  @Test func `a brace before a placeholder is kept`() throws {
    #expect(try replaced("{{{a}}}", ["a": "1"]) == "{1}")
  }

  @Test func `a missing value and an unknown name are errors`() {
    #expect(throws: Placeholders.Fault.missing(["b", "c"])) {
      try replaced("{{a}}{{b}}{{c}}", ["a": "1"])
    }
    #expect(throws: Placeholders.Fault.unknown(["b"])) {
      try replaced("{{a}}", ["a": "{{b}}", "b": "1"])
    }
  }

  @Test(arguments: Page.allCases)
  func `a page is one whole document`(page: Page) {
    #expect(page.text.hasPrefix("<!doctype html>\n") && page.text.hasSuffix("</html>\n"))
    #expect(!page.text.contains("<link rel=\"stylesheet\"") && !page.text.contains("src=\""))
  }

  @Test(arguments: [Page.charts, .dashboard, .done, .home])
  func `a page that is sent as it is has no placeholders`(page: Page) {
    #expect(page.bytes(with: [:]) == page.bytes)
  }

  @Test func `each page of the sign-in has a value for each placeholder`() {
    let pages = [
      OAuthPage.signIn(clientName: "<c>", redirectHost: "h", error: nil, fields: []),
      .signIn(
        clientName: "c", redirectHost: "h", documentHost: "d", linkAge: .seconds(1), error: "e",
        fields: [OAuthField("name", "{{title}}")]),
      .failed(title: "{{sentence}}", sentence: "s"), .done,
    ]
    let texts = pages.map { String(decoding: OAuthPages.html($0), as: UTF8.self) }
    #expect(texts[0].contains("<bdi>&lt;c&gt;</bdi>"))
    #expect(texts[1].contains("value=\"{{title}}\">"))
    #expect(texts[2].contains("<h1>{{sentence}}</h1>\n<p>s</p>"))
    #expect(texts[3] == Page.done.text)
  }
}
