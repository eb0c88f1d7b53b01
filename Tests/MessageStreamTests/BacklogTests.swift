import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the backlog: the missed messages that a new socket delivers first, after the position
/// named in the upgrade.
struct BacklogTests {
  /// Returns a harness that stored everything up to `offset`, lost its socket and reconnected.
  private static func lost(at offset: UInt64, head: UInt64, settles: Bool = true) -> Hand {
    var hand = kept(at: offset)
    hand.reconnect(head: head, settles: settles)
    return hand
  }

  private static func kept(at offset: UInt64) -> Hand {
    var hand = Hand.connected(at: offset - 1)
    hand.hear(Hand.message(offset))
    hand.effects = []
    return hand
  }

  private static func ways(_ hand: Hand) -> [Via] {
    hand.updates.flatMap { update in
      guard case .messages(let messages, let via) = update else { return [Via]() }
      return messages.map { _ in via }
    }
  }

  @Test func `the socket delivers missed messages, and nothing is fetched`() {
    var hand = Self.lost(at: 5, head: 7)
    #expect(hand.named == Hand.at(5))
    #expect(!hand.model.isWhole)
    hand.hear(Hand.message(6))
    #expect(!hand.model.isWhole)
    #expect(hand.commits.last?.cursor?.position == Hand.at(6))
    hand.hear(Hand.message(7))
    #expect(hand.model.isWhole)
    hand.hear(Hand.message(8))
    #expect(hand.texts == ["m6", "m7", "m8"])
    #expect(Self.ways(hand) == [.catchUp, .catchUp, .live])
    #expect(hand.fetches.isEmpty)
    hand.pass(60)
    #expect(hand.fetches.isEmpty)
  }

  @Test func `a message without a position does not end the backlog`() {
    var hand = Self.lost(at: 5, head: 7)
    hand.hear(Hand.message(100, isPlain: true))
    for number in UInt64(6)...7 { hand.hear(Hand.message(number)) }
    #expect(hand.texts == ["m100", "m6", "m7"])
    #expect(Self.ways(hand) == [.live, .catchUp, .catchUp])
    #expect(hand.model.isWhole)
  }

  @Test func `fetches from a server that sends no backlog`() {
    var hand = Self.lost(at: 5, head: 7, settles: false)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.answer(Hand.page(6...7, head: 7))
    #expect(hand.texts == ["m6", "m7"])
    #expect(hand.model.isWhole)
  }

  @Test func `names no position in the upgrade if none is known`() {
    let plain = Hand.plain()
    #expect(plain.named == nil)
    var hand = Hand()
    hand.connect(Hand.page(1...3, head: 3), head: Hand.at(4))
    #expect(hand.named == Hand.at(3), "the first page states a position")
  }

  @Test func `requests no backlog while the reader is behind`() {
    var hand = Hand.connected(at: 5)
    hand.effects = []
    hand.give(.reader(isBehind: true))
    hand.reconnect(head: 7, settles: true)
    #expect(hand.named == nil)
    #expect(hand.fetches.isEmpty)
    hand.give(.reader(isBehind: false))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
  }

  @Test func `fetches the rest of a backlog that stalls`() {
    var hand = Self.lost(at: 5, head: 9)
    for number in UInt64(6)...8 {
      hand.pass(9)
      hand.hear(Hand.message(number))
    }
    #expect(hand.fetches.isEmpty, "each message is a sign of life")
    hand.pass(11)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(8), limit: 100)])
    hand.answer(Hand.page(9...9, head: 9))
    #expect(hand.texts == ["m6", "m7", "m8", "m9"])
    #expect(hand.model.isWhole)
  }

  @Test func `fetches a hole in the backlog at once`() {
    var hand = Self.lost(at: 5, head: 8)
    hand.hear(Hand.message(7))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.hear(Hand.message(8))
    hand.answer(Hand.page(6...8, head: 8))
    #expect(hand.texts.sorted() == ["m6", "m7", "m8"])
    #expect(hand.model.isWhole)
  }

  @Test func `an interrupted backlog resumes where it stopped, and the timeline was never whole`() {
    var hand = Self.lost(at: 5, head: 8)
    let wholeAt = hand.commits.last?.cursor?.wholeAt
    hand.pass(5)
    hand.hear(Hand.message(6))
    #expect(hand.commits.last?.cursor?.wholeAt == wholeAt)
    hand.reconnect(head: 8, settles: true)
    #expect(hand.named == Hand.at(6))
    hand.hear(Hand.message(7))
    hand.hear(Hand.message(8))
    #expect(hand.texts == ["m6", "m7", "m8"])
    #expect(hand.model.isWhole)
    #expect(hand.fetches.isEmpty)
  }

  @Test func `does not repeat a catch-up that ended with its network if the cursor is at the head`()
    throws
  {
    var hand = Hand.connected(at: 5, head: 7)
    hand.give(.reachability(.reachable(path: PathID("a"))))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.oversized(attempt, bytes: 1))
    hand.answer(Hand.page(6...7, head: 7, hasNext: true))
    #expect(hand.fetches.last?.query == .after(Hand.at(7), limit: 100))
    hand.effects = []
    hand.give(.reachability(.reachable(path: PathID("b"))))
    #expect(!hand.model.isWhole)
    hand.pass(5)
    let next = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(next, head: Hand.at(7), after: hand.named))
    #expect(hand.named == Hand.at(7))
    #expect(hand.fetches.isEmpty)
    #expect(hand.model.isWhole)
  }

  @Test func `does not fetch again what arrived during an interrupted catch-up`() throws {
    var hand = Hand.connected(at: 5, head: 7)
    hand.hear(Hand.message(6))
    hand.hear(Hand.message(7))
    hand.answer(Hand.page(6...6, head: 7, hasNext: true))
    #expect(hand.fetches.last?.query == .after(Hand.at(7), limit: 100))
    #expect(hand.model.recovery.ahead == [])
    hand.effects = []
    hand.give(.reachability(.captivePortal))
    hand.give(.reachability(.reachable(path: PathID("a"))))
    hand.pass(5)
    let next = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(next, head: Hand.at(7)))
    #expect(hand.fetches.isEmpty)
    #expect(hand.model.isWhole)
  }

  @Test func `shows a message received beyond a hole once, although the backlog repeats it`() {
    var hand = Self.kept(at: 5)
    hand.hear(Hand.message(7))
    if let asked = hand.fetches.last?.id { hand.give(.fetchFailed(asked, .reset)) }
    hand.effects = []
    hand.reconnect(head: 7, settles: true)
    for number in UInt64(6)...8 { hand.hear(Hand.message(number)) }
    #expect(hand.texts == ["m6", "m8"])
    hand.pass(60, answering: Hand.page([], head: 8))
    #expect(hand.model.isWhole)
  }

  @Test(arguments: [
    ("the cursor went on", Hand.at(4), Hand.at(7), true),
    ("it is the cursor", Hand.at(5), Hand.at(7), true),
    ("it lies beyond the cursor", Hand.at(6), Hand.at(7), false),
    ("the log went back", Hand.at(4), Hand.at(4), false),
    ("another life", Position(epoch: "f", offset: 1), Position(epoch: "f", offset: 7), false),
    ("the head is of another", Hand.at(5), Position(epoch: "f", offset: 7), false),
  ])
  func `skips the fetch only if the backlog continues from the cursor`(
    reason: String, after: Position, head: Position, spares: Bool
  ) throws {
    var hand = Hand.connected(at: 5)
    hand.effects = []
    hand.lose()
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: head, after: after))
    #expect(hand.fetches.isEmpty == spares, "\(reason)")
  }

  @Test func `a refresh replaces the backlog`() {
    var hand = Self.lost(at: 5, head: 7)
    hand.give(.refresh)
    hand.hear(Hand.message(6))
    hand.answer(Hand.page(6...7, head: 7))
    hand.hear(Hand.message(7))
    hand.hear(Hand.message(8))
    #expect(hand.texts == ["m6", "m7", "m8"])
    #expect(hand.model.isWhole)
    #expect(hand.fetches.count == 1)
  }

  @Test func `fetches a hole if the server continues before it has sent the whole backlog`() {
    var hand = Self.lost(at: 5, head: 7)
    hand.hear(Hand.message(8))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.answer(Hand.page(6...8, head: 8))
    #expect(hand.texts.sorted() == ["m6", "m7", "m8"])
    #expect(hand.model.isWhole)
  }

  @Test func `an answer beyond the backlog is no hole`() throws {
    var hand = Self.lost(at: 5, head: 7)
    hand.send("mine")
    let own = Hand.message(8, text: "mine", user: "me")
    hand.give(.posted(try #require(hand.posts.last?.id), own))
    hand.hear(Hand.message(6))
    #expect(hand.commits.last?.cursor?.position == Hand.at(6))
    #expect(!hand.model.isWhole)
    hand.hear(Hand.message(7))
    #expect(hand.model.isWhole)
    #expect(hand.commits.last?.cursor?.position == Hand.at(8))
    hand.hear(own)
    #expect(hand.texts == ["mine", "m6", "m7"])
    #expect(hand.fetches.isEmpty)
  }

  @Test func `an answer beyond the backlog hides no hole in the backlog`() throws {
    var hand = Self.lost(at: 5, head: 8)
    hand.send("mine")
    let own = Hand.message(9, text: "mine", user: "me")
    hand.give(.posted(try #require(hand.posts.last?.id), own))
    hand.hear(Hand.message(7))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
  }

  @Test func `detects a hole between the head and an answer once the backlog is complete`() throws {
    var hand = Self.lost(at: 5, head: 6)
    hand.send("mine")
    let own = Hand.message(8, text: "mine", user: "me")
    hand.give(.posted(try #require(hand.posts.last?.id), own))
    #expect(hand.fetches.isEmpty)
    hand.hear(Hand.message(6))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(6), limit: 100)])
  }

  @Test(arguments: [(UInt64(5), true), (6, true), (4, false)])
  func `does not fetch after an answer that moved the cursor while the socket opened`(
    head: UInt64, spares: Bool
  ) throws {
    for after in [Hand.at(5), nil] {
      var hand = Self.kept(at: 5)
      hand.lose()
      hand.send("mine")
      let own = Hand.message(6, text: "mine", user: "me")
      hand.give(.posted(try #require(hand.posts.last?.id), own))
      let attempt = try #require(hand.model.link.currentAttempt)
      hand.give(.opened(attempt, head: Hand.at(head), after: after))
      #expect(hand.fetches.isEmpty == spares)
      #expect(hand.model.isWhole == spares)
    }
  }

  @Test func `accepts an own message that arrives again while it is being stored`() throws {
    var hand = Self.kept(at: 5)
    hand.lose()
    hand.send("mine")
    let own = Hand.message(6, text: "mine", user: "me")
    let post = try #require(hand.posts.last?.id)
    hand.effects = hand.model.handle(.posted(post, own), at: hand.now)
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(7), after: Hand.at(5)))
    hand.hear(own)
    hand.hear(Hand.message(7))
    #expect(hand.fetches.isEmpty)
  }

  // A launch.

  @Test func `a launch with a stored position connects at once`() {
    let hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    #expect(hand.named == Hand.at(5))
    #expect(hand.fetches.isEmpty)
  }

  @Test(arguments: [(3600, 0), (3601, 1)])
  func `fetches the newest page first after a long absence`(seconds: Int, fetches: Int) {
    let wholeAt = Hand.wall.advanced(by: .seconds(-Int64(seconds)))
    let hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: wholeAt))
    let asked = Array(repeating: PageQuery.page(number: 1, limit: 100), count: fetches)
    #expect(hand.fetches.map(\.query) == asked)
  }

  @Test(arguments: [
    (LinkFailure.timeout(.connect), true), (.http(status: 404, retryAfter: nil, detail: ""), true),
    (.reset, true), (.http(status: 429, retryAfter: .seconds(20), detail: ""), true),
    (.refused, false), (.unreachable(detail: ""), false),
    (.http(status: 401, retryAfter: nil, detail: ""), false),
  ])
  func `fetches after the first attempt of a launch fails, where a fetch may help`(
    failure: LinkFailure, fetches: Bool
  ) throws {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.lost(attempt, failure))
    #expect(hand.fetches.isEmpty != fetches)
    if fetches {
      hand.answer(Hand.page(6...6, head: 6))
      #expect(hand.texts == ["m6"])
    }
  }

  @Test func `fetches when the first attempt of a launch reaches its time-out`() {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    hand.pass(4)
    #expect(hand.fetches.isEmpty)
    hand.pass(1)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.answer(Hand.page(6...6, head: 6))
    #expect(hand.texts == ["m6"])
    hand.pass(5)
    #expect(hand.fetches.count == 1, "once for a launch")
  }

  @Test func `fetches after an attempt with renewed credentials fails at launch`() throws {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    hand.give(.lost(try #require(hand.model.link.currentAttempt), Hand.refused))
    hand.give(.credentials(.available(expiresIn: nil)))
    #expect(hand.fetches.isEmpty)
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .reset))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
  }

  @Test func `a launch with a pending message fetches nothing`() throws {
    let entry = Hand.entry("mine")
    let cursor = Cursor(position: Hand.at(5), wholeAt: Hand.wall)
    var hand = Hand(cursor: cursor, outbox: [entry])
    #expect(hand.posts.map(\.id) == [entry.id])
    let own = Hand.message(7, text: "mine", user: "me")
    hand.give(.posted(entry.id, own))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(7), after: Hand.at(5)))
    hand.hear(Hand.message(6))
    hand.hear(own)
    #expect(hand.model.timeline.messages.map(\.text) == ["m6", "mine"])
    #expect(hand.model.isWhole)
    #expect(hand.fetches.isEmpty)
  }

  @Test func `fetches what precedes a post when no attempt is under way`() throws {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    hand.send("mine")
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .unreachable(detail: "")))
    #expect(hand.model.link.currentAttempt == nil)
    #expect(hand.fetches.isEmpty)
    hand.give(.posted(try #require(hand.posts.last).id, Hand.message(7, text: "mine")))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
  }

  @Test func `losing an open socket does not by itself cause a fetch`() throws {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(5)))
    hand.give(.lost(attempt, .reset))
    #expect(hand.fetches.isEmpty)
  }

  @Test func `the next socket replaces a pending backlog`() {
    var hand = Self.lost(at: 5, head: 8)
    hand.reconnect(head: 5, settles: true)
    #expect(hand.model.recovery.backlog == nil)
    #expect(hand.model.isWhole)
  }

  @Test func `a timeline left before its backlog is complete is not whole`() {
    var hand = Self.lost(at: 5, head: 8)
    let wholeAt = hand.model.recovery.cursor.wholeAt
    hand.give(.lifecycle(.background), at: Hand.wall.advanced(by: .seconds(1000)))
    #expect(hand.model.recovery.cursor.wholeAt == wholeAt)
  }
}
