import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for the parts of the session server in isolation.
@Suite struct SessionPartsTests {
  private static func many(_ text: String, _ count: Int) -> String {
    String(repeating: text, count: count)
  }

  @Test(arguments: [
    ("", 0), ("a", 1), ("é", 2), ("€", 3), ("𝄞", 4), ("\"", 2), ("\\", 2), ("\u{0}", 6),
    ("\u{1F}", 6), (" ", 1), ("!", 1), ("a\"\\\n", 11),
  ])
  func `a character counts as its bytes in JSON`(text: String, bytes: Int) {
    #expect(SessionText.length(text) == bytes)
  }

  /// The message takes 700 bytes in addition to its text.
  @Test(arguments: [
    (many("a", 300), 1_000, true), (many("a", 301), 1_000, false), ("", 700, true),
    ("", 699, false), (many("\u{1}", 50), 1_000, true), (many("\u{1}", 51), 1_000, false),
    (many("\u{1}", 51), 1_005, false), (many("\u{1}", 51), 1_006, true),
    (many("\"", 150), 1_000, true), (many("\"", 151), 1_000, false),
  ])
  func `a text fits up to the limit`(text: String, limit: Int, fits: Bool) {
    #expect(SessionText.fits(text, in: limit) == fits)
    #expect((SessionText.cut(text, toFit: limit) == text) == fits)
  }

  /// Of the 300 bytes that remain for the text, the note takes 80, and each end of the text takes
  /// 110.
  @Test(arguments: [
    ("a", 400, 110, 180), ("é", 300, 55, 380), ("€", 200, 36, 384), ("𝄞", 100, 27, 184),
    ("\"", 200, 55, 90), ("\\", 200, 55, 90), ("\u{1}", 100, 18, 64), (" ", 301, 110, 81),
  ])
  func `a text that is too long is cut in its middle`(
    character: String, count: Int, length: Int, left: Int
  ) {
    let end = Self.many(character, length)
    #expect(
      SessionText.cut(Self.many(character, count), toFit: 1_000)
        == "\(end)\n\n[... \(left) bytes left out ...]\n\n\(end)")
  }

  @Test(arguments: [("€", 998, 36), ("é", 782, 0)])
  func `a cut splits no character`(character: String, limit: Int, length: Int) {
    let text = Self.many(character, 500)
    let end = Self.many(character, length)
    let left = text.utf8.count - 2 * end.utf8.count
    #expect(
      SessionText.cut(text, toFit: limit)
        == "\(end)\n\n[... \(left) bytes left out ...]\n\n\(end)")
  }

  @Test(arguments: [(100, 0), (780, 0), (781, 0), (782, 1), (784, 2)])
  func `a limit without space for text leaves the note`(limit: Int, length: Int) {
    let end = Self.many("a", length)
    #expect(
      SessionText.cut(Self.many("a", 500), toFit: limit)
        == "\(end)\n\n[... \(500 - 2 * length) bytes left out ...]\n\n\(end)")
  }

  @Test(arguments: [
    ("abcdef", 2, 3, "cde"), ("abc", 0, 3, "abc"), ("abc", 1, 10, "bc"), ("abc", 3, 1, ""),
    ("abc", 4, 1, ""), ("aéb", 0, 1, "a"), ("aéb", 0, 2, "a"), ("aéb", 0, 3, "aé"),
    ("aéb", 1, 1, ""), ("aéb", 3, 1, "b"), ("𝄞b", 0, 3, ""), ("𝄞b", 0, 4, "𝄞"),
  ])
  func `a slice ends between characters`(text: String, start: Int, limit: Int, slice: String) {
    #expect(String(SessionText.slice(text, from: start, atMost: limit)) == slice)
  }

  @Test(arguments: [
    ("", ""), ("\n", ""), ("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\r", "a\r"),
    ("a\n\n", "a\n"), ("a\n\r\n", "a\n"),
  ])
  func `one trailing line break is removed`(text: String, line: String) {
    #expect(SessionText.withoutLineEnd(text) == line)
  }

  @Test func `a lane returns parcels in order, except that one put back comes first`() {
    var queue = SessionQueue()
    let items = (1...300).map { SessionQueue.Item.response(SessionPromptID(UInt64($0))) }
    for item in items { queue.append(item) }
    #expect(queue.count == 300)
    var taken: [SessionQueue.Item] = []
    for index in 0..<300 {
      guard let item = queue.next() else { break }
      taken.append(item)
      if index % 3 == 0 {
        queue.putBack(item)
        #expect(queue.count == 300 - index)
        #expect(queue.next() == item)
      }
      #expect(queue.count == 299 - index)
    }
    #expect(taken == items)
    #expect(queue.next() == nil)
    queue.putBack(items[0])
    queue.append(items[1])
    #expect([queue.next(), queue.next(), queue.next()] == [items[0], items[1], nil])
  }

  @Test func `news of a conversation wait once, even if they were put back`() {
    var queue = SessionQueue()
    queue.append(.news("a"))
    queue.append(.news("b"))
    queue.append(.news("a"))
    #expect(queue.count == 2)
    #expect(queue.news == ["a", "b"])
    #expect(queue.next() == .news("a"))
    #expect(queue.news == ["b"])
    queue.putBack(.news("a"))
    queue.append(.news("a"))
    #expect(queue.count == 2)
    #expect([queue.next(), queue.next(), queue.next()] == [.news("a"), .news("b"), nil])
    queue.append(.news("a"))
    #expect(queue.count == 1)
  }
}
