import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the backlog: the missed messages that a new socket delivers first, starting after the
/// position in the upgrade.
struct BacklogTests {
  /// Returns a harness that had stored all messages up to `offset`, lost its socket and
  /// reconnected.
  private static func lost(at offset: UInt64, head: UInt64, accepts: Bool = true) -> Harness {
    var harness = stored(at: offset)
    harness.reconnect(head: head, accepts: accepts)
    return harness
  }

  private static func stored(at offset: UInt64) -> Harness {
    var harness = Harness.connected(at: offset - 1)
    harness.receive(Harness.message(offset))
    harness.effects = []
    return harness
  }

  private static func ways(_ harness: Harness) -> [StreamUpdate.Via] {
    harness.updates.flatMap { update in
      guard case .messages(let messages, let via) = update else { return [StreamUpdate.Via]() }
      return messages.map { _ in via }
    }
  }

  @Test func `the socket delivers missed messages, and nothing is fetched`() {
    var harness = Self.lost(at: 5, head: 7)
    #expect(harness.named == Harness.at(5))
    #expect(!harness.model.isWhole)
    harness.receive(Harness.message(6))
    #expect(!harness.model.isWhole)
    #expect(harness.commits.last?.cursor?.position == Harness.at(6))
    harness.receive(Harness.message(7))
    #expect(harness.model.isWhole)
    harness.receive(Harness.message(8))
    #expect(harness.texts == ["m6", "m7", "m8"])
    #expect(Self.ways(harness) == [.catchUp, .catchUp, .live])
    #expect(harness.fetches.isEmpty)
    harness.pass(60)
    #expect(harness.fetches.isEmpty)
  }

  @Test func `a message without a position does not end the backlog`() {
    var harness = Self.lost(at: 5, head: 7)
    harness.receive(Harness.message(100, isPlain: true))
    for number in UInt64(6)...7 { harness.receive(Harness.message(number)) }
    #expect(harness.texts == ["m100", "m6", "m7"])
    #expect(Self.ways(harness) == [.live, .catchUp, .catchUp])
    #expect(harness.model.isWhole)
  }

  @Test func `fetches from a server that sends no backlog`() {
    var harness = Self.lost(at: 5, head: 7, accepts: false)
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.answer(Harness.page(6...7, head: 7))
    #expect(harness.texts == ["m6", "m7"])
    #expect(harness.model.isWhole)
  }

  @Test func `names no position in the upgrade if none is known`() {
    let plain = Harness.plain()
    #expect(plain.named == nil)
    var harness = Harness()
    harness.connect(Harness.page(1...3, head: 3), head: Harness.at(4))
    #expect(harness.named == Harness.at(3), "the first page states a position")
  }

  @Test func `requests no backlog while the reader is behind`() {
    var harness = Harness.connected(at: 5)
    harness.effects = []
    harness.give(.reader(isBehind: true))
    harness.reconnect(head: 7, accepts: true)
    #expect(harness.named == nil)
    #expect(harness.fetches.isEmpty)
    harness.give(.reader(isBehind: false))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
  }

  @Test func `fetches the rest of a backlog that stalls`() {
    var harness = Self.lost(at: 5, head: 9)
    for number in UInt64(6)...8 {
      harness.pass(9)
      harness.receive(Harness.message(number))
    }
    #expect(harness.fetches.isEmpty, "each message is a sign of life")
    harness.pass(11)
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(8), limit: 100)])
    harness.answer(Harness.page(9...9, head: 9))
    #expect(harness.texts == ["m6", "m7", "m8", "m9"])
    #expect(harness.model.isWhole)
  }

  @Test func `fetches a hole in the backlog at once`() {
    var harness = Self.lost(at: 5, head: 8)
    harness.receive(Harness.message(7))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.receive(Harness.message(8))
    harness.answer(Harness.page(6...8, head: 8))
    #expect(harness.texts.sorted() == ["m6", "m7", "m8"])
    #expect(harness.model.isWhole)
  }

  @Test func `an interrupted backlog resumes where it stopped, and the timeline was never whole`() {
    var harness = Self.lost(at: 5, head: 8)
    let wholeAt = harness.commits.last?.cursor?.wholeAt
    harness.pass(5)
    harness.receive(Harness.message(6))
    #expect(harness.commits.last?.cursor?.wholeAt == wholeAt)
    harness.reconnect(head: 8, accepts: true)
    #expect(harness.named == Harness.at(6))
    harness.receive(Harness.message(7))
    harness.receive(Harness.message(8))
    #expect(harness.texts == ["m6", "m7", "m8"])
    #expect(harness.model.isWhole)
    #expect(harness.fetches.isEmpty)
  }

  @Test func `does not repeat a catch-up that ended with its network if the cursor is at the head`()
    throws
  {
    var harness = Harness.connected(at: 5, head: 7)
    harness.give(.reachability(.reachable(path: PathID("a"))))
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.oversized(attempt, bytes: 1))
    harness.answer(Harness.page(6...7, head: 7, hasNext: true))
    #expect(harness.fetches.last?.query == .after(Harness.at(7), limit: 100))
    harness.effects = []
    harness.give(.reachability(.reachable(path: PathID("b"))))
    #expect(!harness.model.isWhole)
    harness.pass(5)
    let next = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(next, head: Harness.at(7), after: harness.named))
    #expect(harness.named == Harness.at(7))
    #expect(harness.fetches.isEmpty)
    #expect(harness.model.isWhole)
  }

  @Test func `does not fetch again what arrived during an interrupted catch-up`() throws {
    var harness = Harness.connected(at: 5, head: 7)
    harness.receive(Harness.message(6))
    harness.receive(Harness.message(7))
    harness.answer(Harness.page(6...6, head: 7, hasNext: true))
    #expect(harness.fetches.last?.query == .after(Harness.at(7), limit: 100))
    #expect(harness.model.recovery.ahead == [])
    harness.effects = []
    harness.give(.reachability(.captivePortal))
    harness.give(.reachability(.reachable(path: PathID("a"))))
    harness.pass(5)
    let next = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(next, head: Harness.at(7)))
    #expect(harness.fetches.isEmpty)
    #expect(harness.model.isWhole)
  }

  @Test func `shows a message received beyond a hole once, although the backlog repeats it`() {
    var harness = Self.stored(at: 5)
    harness.receive(Harness.message(7))
    if let asked = harness.fetches.last?.id { harness.give(.fetchFailed(asked, .reset)) }
    harness.effects = []
    harness.reconnect(head: 7, accepts: true)
    for number in UInt64(6)...8 { harness.receive(Harness.message(number)) }
    #expect(harness.texts == ["m6", "m8"])
    harness.pass(60, answering: Harness.page([], head: 8))
    #expect(harness.model.isWhole)
  }

  @Test(arguments: [
    ("the cursor went on", Harness.at(4), Harness.at(7), true),
    ("it is the cursor", Harness.at(5), Harness.at(7), true),
    ("it lies beyond the cursor", Harness.at(6), Harness.at(7), false),
    ("the log went back", Harness.at(4), Harness.at(4), false),
    (
      "another life", ShopPosition(epoch: "f", offset: 1), ShopPosition(epoch: "f", offset: 7),
      false
    ),
    ("the head is of another", Harness.at(5), ShopPosition(epoch: "f", offset: 7), false),
  ])
  func `skips the fetch only if the backlog continues from the cursor`(
    reason: String, after: ShopPosition, head: ShopPosition, spares: Bool
  ) throws {
    var harness = Harness.connected(at: 5)
    harness.effects = []
    harness.lose()
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: head, after: after))
    #expect(harness.fetches.isEmpty == spares, "\(reason)")
  }

  @Test func `a refresh replaces the backlog`() {
    var harness = Self.lost(at: 5, head: 7)
    harness.give(.refresh)
    harness.receive(Harness.message(6))
    harness.answer(Harness.page(6...7, head: 7))
    harness.receive(Harness.message(7))
    harness.receive(Harness.message(8))
    #expect(harness.texts == ["m6", "m7", "m8"])
    #expect(harness.model.isWhole)
    #expect(harness.fetches.count == 1)
  }

  @Test func `fetches a hole if the server continues before it has sent the whole backlog`() {
    var harness = Self.lost(at: 5, head: 7)
    harness.receive(Harness.message(8))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.answer(Harness.page(6...8, head: 8))
    #expect(harness.texts.sorted() == ["m6", "m7", "m8"])
    #expect(harness.model.isWhole)
  }

  @Test func `an answer beyond the backlog is no hole`() throws {
    var harness = Self.lost(at: 5, head: 7)
    harness.send("mine")
    let own = Harness.message(8, text: "mine", user: "me")
    harness.give(.posted(try #require(harness.posts.last?.id), own))
    harness.receive(Harness.message(6))
    #expect(harness.commits.last?.cursor?.position == Harness.at(6))
    #expect(!harness.model.isWhole)
    harness.receive(Harness.message(7))
    #expect(harness.model.isWhole)
    #expect(harness.commits.last?.cursor?.position == Harness.at(8))
    harness.receive(own)
    #expect(harness.texts == ["mine", "m6", "m7"])
    #expect(harness.fetches.isEmpty)
  }

  @Test func `an answer beyond the backlog hides no hole in the backlog`() throws {
    var harness = Self.lost(at: 5, head: 8)
    harness.send("mine")
    let own = Harness.message(9, text: "mine", user: "me")
    harness.give(.posted(try #require(harness.posts.last?.id), own))
    harness.receive(Harness.message(7))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
  }

  @Test func `detects a hole between the head and an answer once the backlog is complete`() throws {
    var harness = Self.lost(at: 5, head: 6)
    harness.send("mine")
    let own = Harness.message(8, text: "mine", user: "me")
    harness.give(.posted(try #require(harness.posts.last?.id), own))
    #expect(harness.fetches.isEmpty)
    harness.receive(Harness.message(6))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(6), limit: 100)])
  }

  @Test(arguments: [(UInt64(5), true), (6, true), (4, false)])
  func `does not fetch after an answer that moved the cursor while the socket opened`(
    head: UInt64, spares: Bool
  ) throws {
    for after in [Harness.at(5), nil] {
      var harness = Self.stored(at: 5)
      harness.lose()
      harness.send("mine")
      let own = Harness.message(6, text: "mine", user: "me")
      harness.give(.posted(try #require(harness.posts.last?.id), own))
      let attempt = try #require(harness.model.link.currentAttempt)
      harness.give(.opened(attempt, head: Harness.at(head), after: after))
      #expect(harness.fetches.isEmpty == spares)
      #expect(harness.model.isWhole == spares)
    }
  }

  @Test func `accepts an own message that arrives again while it is being stored`() throws {
    var harness = Self.stored(at: 5)
    harness.lose()
    harness.send("mine")
    let own = Harness.message(6, text: "mine", user: "me")
    let post = try #require(harness.posts.last?.id)
    harness.effects = harness.model.handle(.posted(post, own), at: harness.now)
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(7), after: Harness.at(5)))
    harness.receive(own)
    harness.receive(Harness.message(7))
    #expect(harness.fetches.isEmpty)
  }

  // MARK: Launches

  @Test func `a launch with a stored position connects at once`() {
    let harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    #expect(harness.named == Harness.at(5))
    #expect(harness.fetches.isEmpty)
  }

  @Test(arguments: [(3600, 0), (3601, 1)])
  func `fetches the newest page first after a long absence`(seconds: Int, fetches: Int) {
    let wholeAt = Harness.wall.advanced(by: .seconds(-Int64(seconds)))
    let harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: wholeAt))
    let asked = Array(repeating: PageQuery.page(number: 1, limit: 100), count: fetches)
    #expect(harness.fetches.map(\.query) == asked)
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
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.lost(attempt, failure))
    #expect(harness.fetches.isEmpty != fetches)
    if fetches {
      harness.answer(Harness.page(6...6, head: 6))
      #expect(harness.texts == ["m6"])
    }
  }

  @Test func `fetches when the first attempt of a launch reaches its time-out`() {
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    harness.pass(4)
    #expect(harness.fetches.isEmpty)
    harness.pass(1)
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.answer(Harness.page(6...6, head: 6))
    #expect(harness.texts == ["m6"])
    harness.pass(5)
    #expect(harness.fetches.count == 1, "once for a launch")
  }

  @Test func `fetches after an attempt with renewed credentials fails at launch`() throws {
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    harness.give(.lost(try #require(harness.model.link.currentAttempt), Harness.refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    #expect(harness.fetches.isEmpty)
    harness.give(.lost(try #require(harness.model.link.currentAttempt), .reset))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
  }

  @Test func `a launch with a pending message fetches nothing`() throws {
    let entry = Harness.entry("mine")
    let cursor = ShopCursor(position: Harness.at(5), wholeAt: Harness.wall)
    var harness = Harness(cursor: cursor, outbox: [entry])
    #expect(harness.posts.map(\.id) == [entry.id])
    let own = Harness.message(7, text: "mine", user: "me")
    harness.give(.posted(entry.id, own))
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(7), after: Harness.at(5)))
    harness.receive(Harness.message(6))
    harness.receive(own)
    #expect(harness.model.timeline.messages.map(\.text) == ["m6", "mine"])
    #expect(harness.model.isWhole)
    #expect(harness.fetches.isEmpty)
  }

  @Test func `fetches what precedes a post when no attempt is under way`() throws {
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    harness.send("mine")
    harness.give(.lost(try #require(harness.model.link.currentAttempt), .unreachable(detail: "")))
    #expect(harness.model.link.currentAttempt == nil)
    #expect(harness.fetches.isEmpty)
    harness.give(.posted(try #require(harness.posts.last).id, Harness.message(7, text: "mine")))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
  }

  @Test func `losing an open socket does not by itself cause a fetch`() throws {
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(5)))
    harness.give(.lost(attempt, .reset))
    #expect(harness.fetches.isEmpty)
  }

  @Test func `the next socket replaces a pending backlog`() {
    var harness = Self.lost(at: 5, head: 8)
    harness.reconnect(head: 5, accepts: true)
    #expect(harness.model.recovery.backlog == nil)
    #expect(harness.model.isWhole)
  }

  @Test func `a timeline left before its backlog is complete is not whole`() {
    var harness = Self.lost(at: 5, head: 8)
    let wholeAt = harness.model.recovery.cursor.wholeAt
    harness.give(.lifecycle(.background), at: Harness.wall.advanced(by: .seconds(1000)))
    #expect(harness.model.recovery.cursor.wholeAt == wholeAt)
  }
}
