import HoldfastMessageData
import Testing

/// Tests of the names and the default start of consumers.
@Suite struct ConsumerTests {
  @Test(arguments: [("a", true), ("a.b_C-9", true), ("", false), ("a/b", false), ("é", false)])
  func `a consumer's name follows the rules of a shop's id`(text: String, isName: Bool) {
    #expect(ConsumerName(text)?.text == (isName ? text : nil))
  }

  @Test func `names have up to 128 characters`() {
    for count in [128, 129] {
      let text = String(repeating: "c", count: count)
      #expect(ConsumerName(text)?.text == (count == 128 ? text : nil))
    }
  }

  @Test func `orders names by their text, and none precedes itself`() throws {
    let (first, second) = (try #require(ConsumerName("a")), try #require(ConsumerName("b")))
    let order = [first < second, second < first, first < first]
    #expect(order == [true, false, false])
  }

  @Test func `a consumer begins with the newest 50 messages by default`() {
    #expect(ConsumerStart.usual == .newest(50))
  }
}
