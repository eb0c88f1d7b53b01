import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the cursor during arrears: the missed events that a socket delivers, each message once
/// and in its newest form. Only they move the cursor, since anything else can overtake them.
struct ArrearsTests {
  /// An action of the phone's user during the arrears.
  enum Act: CaseIterable {
    case post
    case edit
    case delete
  }

  /// Returns a phone that has everything up to 10 and asked for what follows, up to 35. The answers
  /// to its requests have not arrived.
  static func asking(_ act: Act) throws -> (harness: Harness, entry: UUID128) {
    var harness = Harness.connected(at: 9) { $0.wantsEvents = true }
    harness.receive(Harness.message(10, user: "me"))
    let own = Harness.message(10).id
    let entry = UUID128(high: 3, low: 3)
    switch act {
    case .post: harness.give(.send(id: entry, text: "mine", parent: nil, at: Harness.wall))
    case .edit: harness.give(.edit(id: entry, own, text: "mine", at: Harness.wall))
    case .delete: harness.give(.delete(id: entry, own, at: Harness.wall))
    }
    try #require(harness.posts.map(\.id) == [entry])
    harness.lose()
    try #require(harness.named == Harness.at(10))
    return (harness, entry)
  }

  static func open(_ harness: inout Harness, after offset: UInt64, head: UInt64) throws {
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(
      .opened(attempt, head: Harness.at(head), after: Harness.at(offset), events: true))
  }

  /// Gives the answer to what the user did, whose event has the offset 31.
  static func answer(_ act: Act, _ entry: UUID128, to harness: inout Harness) {
    var own = Harness.message(10, text: "mine", user: "me")
    switch act {
    case .post: harness.give(.posted(entry, Harness.message(31, text: "mine", user: "me")))
    case .edit:
      (own.isEdited, own.changed) = (true, Harness.at(31))
      own.updatedAt = own.createdAt
      harness.give(.edited(entry, own))
    case .delete:
      let deletion = ShopDeletion(
        id: own.id, shop: own.shop, position: Harness.at(10), changed: Harness.at(31))
      harness.give(.deleted(entry, deletion))
    }
  }

  @Test(arguments: Act.allCases, [0, 1, 3])
  func `an answer during arrears that are cut off does not move the cursor over the rest`(
    act: Act, arrived: UInt64
  ) throws {
    var (harness, entry) = try Self.asking(act)
    try Self.open(&harness, after: 10, head: 35)
    for number in 0..<arrived { harness.receive(Harness.message(11 + number)) }
    Self.answer(act, entry, to: &harness)
    #expect(harness.commits.compactMap(\.cursor?.position?.offset).max() ?? 10 <= 10 + arrived)
    harness.lose()
    #expect(harness.named == Harness.at(10 + arrived))
    try Self.open(&harness, after: 10 + arrived, head: 35)
    for number in 11 + arrived...35 where number != 31 || act == .post {
      harness.receive(Harness.message(number))
    }
    #expect(harness.model.isWhole && harness.model.recovery.cursor.position == Harness.at(35))
    let stored = Set(harness.commits.flatMap(\.messages).map(\.id))
    #expect((11...35).allSatisfy { stored.contains(Harness.message($0).id) || $0 == 31 })
  }

  @Test(arguments: Act.allCases)
  func `an answer while the next socket opens does not move the cursor`(act: Act) throws {
    var (harness, entry) = try Self.asking(act)
    try Self.open(&harness, after: 10, head: 35)
    harness.receive(Harness.message(11))
    harness.lose()
    Self.answer(act, entry, to: &harness)
    #expect(harness.model.recovery.cursor.position == Harness.at(11))
    harness.lose()
    #expect(harness.named == Harness.at(11))
  }

  @Test(arguments: Act.allCases)
  func `an answer during pages that are cut off does not move the cursor over the rest`(act: Act)
    throws
  {
    var (harness, entry) = try Self.asking(act)
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(35), events: true))
    var page = Harness.page([11, 12, 13], head: 35, hasNext: true)
    page.through = Harness.at(13)
    harness.answer(page)
    Self.answer(act, entry, to: &harness)
    if let last = harness.fetches.last { harness.give(.fetchFailed(last.id, .reset)) }
    #expect(harness.model.recovery.cursor.position == Harness.at(13))
    harness.lose()
    #expect(harness.named == Harness.at(13))
  }

  @Test(arguments: 0..<100)
  func `whatever arrives between arrears, the next socket asks for the first that is missing`(
    seed: UInt64
  ) throws {
    var random = RandomSource(seed: seed)
    let act = Act.allCases[Int(random.next() % 3)]
    var (harness, entry) = try Self.asking(act)
    var (last, isAnswered) = (UInt64(10), false)
    for _ in 0..<4 {
      try Self.open(&harness, after: last, head: 35)
      for _ in 0..<random.next() % 8 {
        switch random.next() % 5 {
        case 0 where !isAnswered:
          Self.answer(act, entry, to: &harness)
          isAnswered = true
        case 1: harness.give(.loadOlder)
        case 2: harness.answer(Harness.page([5, 6], head: 40))
        case _ where last < 30:
          last += 1 + random.next() % 2
          harness.receive(Harness.message(last))
        case _: break
        }
      }
      harness.lose()
      #expect(harness.named == Harness.at(last))
    }
  }
}
