import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// Each invariant of a stream and of its parts can fail.
@Suite struct StreamInvariantTests {
  typealias Plant = PlantedFault<StreamModel>

  private func check(_ plants: [Plant], _ model: StreamModel) {
    #expect(unnoticed(plants, in: model) == [])
  }

  /// Connected and whole up to offset 10.
  private static var whole: StreamModel { Hand.connected(at: 10).model }
  /// Connected, and fetching what lies between 10 and 20.
  private static var fetching: StreamModel { Hand.connected(at: 10, head: 20).model }
  private static let stranger = UUID128(high: 9, low: 9)

  private static let fetchPlants: [Plant] =
    [
      (
        "stream: the link is wanted only while the store is open", { $0.phase = .closed }
      ),
      (
        "stream: too many malformed messages end the connection",
        { $0.malformed = Array(repeating: .zero, count: 5) }
      ),
      (
        "stream: offsets lie ahead only while a socket stands",
        { model in
          model.recovery.ahead = [12]
          model.link = HeldLink(policy: .messageStream, seed: 1)
        }
      ),
      (
        "stream: a catch-up waits only while the link is wanted",
        { $0.link = HeldLink(policy: .messageStream, seed: 1) }
      ),
      (
        "stream: a catch-up waits only while the link is wanted",
        { model in
          let forbidden = LinkFailure.http(status: 403, retryAfter: nil, detail: "")
          _ = model.link.handle(.requested(forbidden), at: .zero)
        }
      ),
      (
        "stream: a page of a catch-up was numbered",
        { $0.recovery.run?.fetch = FetchID(999) }
      ),
      (
        "stream: a catch-up fetches no more pages than it may",
        { $0.recovery.run?.pages = 1001 }
      ),
      (
        "stream: a page is fetched with known credentials",
        { $0.recovery.run?.credentials = 99 }
      ),
      (
        "stream: a page of the history is fetched with known credentials",
        { model in
          model.change { $0.credentials = 99 }
        }
      ),
      (
        "stream: a request for a page is in one place",
        { model in
          let fetch = model.recovery.run?.fetch
          model.change { $0.id = fetch ?? FetchID(0) }
        }
      ),
      (
        "stream: a request for a page is in one place",
        { model in
          model.change { $0.id = FetchID(999) }
        }
      ),
    ]

  @Test func `what a stream fetches is checked`() {
    check(Self.fetchPlants, Self.fetching)
    check(
      [
        (
          "stream: a catch-up fetches no more pages than it may", { $0.recovery.run?.pages = 2 }
        )
      ], Hand.connected(at: 10, head: 20) { $0.catchUpPages = 1 }.model)
  }

  @Test(arguments: [(0, 0), (1, 0), (5, 4)])
  func `fewer malformed messages than end a connection break nothing`(limit: Int, count: Int) {
    var model = Hand.connected(at: 10) { $0.malformedLimit = limit }.model
    model.malformed = Array(repeating: .zero, count: count)
    #expect(model.brokenInvariants(.thorough) == [])
  }

  @Test func `what the reader and the outbox wait for is checked`() {
    check(
      [
        (
          "stream: a reader waits only for something under way", { $0.history.isWanted = true }
        ),
        (
          "stream: a message is kept back only for a try under way",
          { $0.outbox.echo = Outbox.Echo(entry: Self.stranger, message: Hand.message(1)) }
        ),
      ], Self.whole)
  }

  @Test func `a cursor goes to the store with what it covers, and not before`() {
    check(
      [
        (
          "stream: the store is told no cursor beyond the known one",
          { $0.writer.set(cursor: Cursor(position: Hand.at(11))) }
        ),
        (
          "stream: the store is told no cursor beyond the known one",
          { $0.writer.set(cursor: Cursor(time: Hand.wall.advanced(by: .seconds(1)))) }
        ),
        (
          "stream: what is shown is stored",
          {
            $0.timeline.insert(Hand.message(10))
            $0.writer.add([Hand.message(10)], via: .live)
          }
        ),
        (
          "stream: a cursor goes to the store with the messages that it covers",
          {
            $0.recovery.cursor.position = Hand.at(12)
            var batch = Writer.Batch()
            batch.change.cursor = Cursor(position: Hand.at(12))
            $0.writer.inFlight = Writer.InFlight(id: CommitID(0), batch: batch)
            $0.writer.add([Hand.message(12)], via: .live)
          }
        ),
      ], Self.whole)
  }

  @Test func `the timeline and the writer are checked`() {
    check(
      [
        ("timeline: each id is in it once", { $0.timeline.ids = [] }),
        (
          "timeline: it holds no more than its limit",
          { model in
            for number in UInt64(1)...1001 { model.timeline.insert(Hand.message(number)) }
          }
        ),
        ("timeline: it knows its ids", { $0.timeline.ids = [Self.stranger, Hand.message(1).id] }),
        ("timeline: messages are in order", { $0.timeline.messages.reverse() }),
        (
          "timeline: messages are in order",
          { $0.timeline.messages = Array(repeating: Hand.message(1), count: 2) }
        ),
        (
          "writer: it knows how each message came",
          { $0.writer.waiting.change.messages = [Hand.message(11)] }
        ),
        ("writer: only a refused change is tried again", { $0.writer.retryAt = .zero }),
        (
          "writer: the change under way was numbered",
          { $0.writer.inFlight = Writer.InFlight(id: CommitID(99), batch: Writer.Batch()) }
        ),
        ("writer: it knows the ids that wait", { $0.writer.waiting.ids = [Self.stranger] }),
      ],
      {
        var model = Self.whole
        model.timeline.insert(Hand.message(1))
        model.timeline.insert(Hand.message(2))
        return model
      }())
  }

  private static let partPlants: [Plant] =
    [
      (
        "recovery: it waits for one thing at a time",
        {
          $0.recovery.retryAt = .zero
          $0.recovery.arrears = Recovery.Arrears(end: Hand.at(11), until: .zero)
        }
      ),
      (
        "recovery: what it remembers beyond the cursor is bounded",
        { $0.recovery.ahead = Set(11...10_011) }
      ),
      (
        "recovery: what it remembers beyond the cursor is bounded",
        { $0.recovery.unplaced = Set((0...10_000).map { UUID128(high: 1, low: $0) }) }
      ),
      (
        "recovery: offsets lie ahead of a position",
        {
          $0.recovery.cursor.position = nil
          $0.recovery.ahead = [12]
        }
      ),
      (
        "recovery: arrears end beyond the cursor",
        { $0.recovery.arrears = Recovery.Arrears(end: Hand.at(10), until: .zero) }
      ),
      (
        "recovery: nothing is current before its arrears are there",
        { $0.recovery.arrears = Recovery.Arrears(end: Hand.at(11), until: .zero) }
      ),
      (
        "stream: no two gaps end at the same message",
        { $0.gaps = Array(repeating: Gap(after: nil, before: Hand.message(2).key), count: 2) }
      ),
      ("history: what is shown has an oldest message", { $0.history.shown = 1 }),
      ("history: a count is too high or right", { $0.history.excess = -1 }),
      (
        "outbox: what it knows of an entry ends with the entry",
        { $0.outbox.sought = [Self.stranger] }
      ),
      (
        "outbox: what it knows of an entry ends with the entry",
        { $0.outbox.floors = [Self.stranger: Hand.wall] }
      ),
      (
        "outbox: it knows nothing of entries that are gone",
        { $0.outbox.floors = [Self.stranger: Hand.wall] }
      ),
      (
        "outbox: it knows nothing of entries that are gone",
        { $0.outbox.sought = [Self.stranger] }
      ),
    ]

  @Test func `recovery, history and outbox are checked`() {
    check(Self.partPlants, Self.whole)
  }

  @Test func `so many messages without a position are remembered, and no more`() {
    var recovery = Recovery()
    recovery.unplaced = Set((0..<10_000).map { UUID128(high: 1, low: $0) })
    let full = recovery
    recovery.noteUnplaced(Hand.message(1, isPlain: true))
    #expect(recovery == full)
  }

  @Test func `a message with a position is not remembered among those without`() {
    var recovery = Recovery()
    recovery.noteUnplaced(Hand.message(1))
    #expect(recovery == Recovery())
  }

  @Test func `a timeline knows the places of its first and its last message`() {
    var timeline = ShopTimeline(limit: 10)
    for number in UInt64(1)...3 { timeline.insert(Hand.message(number)) }
    #expect(timeline.oldest == Hand.message(1).key)
    #expect(timeline.newest == Hand.message(3).key)
  }

  @Test func `an edit that changes a stamp moves the message to its place`() {
    var timeline = ShopTimeline(limit: 10)
    for number in UInt64(1)...3 { timeline.insert(Hand.message(number)) }
    var edited = Hand.message(1)
    edited.createdAt = Hand.message(5).createdAt
    timeline.replace(edited)
    #expect(timeline.messages.map(\.text) == ["m2", "m3", "m1"])
    var check = InvariantCheck(.thorough)
    timeline.check(&check)
    #expect(check.broken == [])
  }

  @Test func `a link that ends by itself ends the catch-up`() throws {
    let policy = try LinkPolicy.messageStream.setting([("liveness.idle", "5s idle")])
    var hand = Hand.connected(at: 10, head: 20) { $0.policy = policy }
    #expect(hand.model.recovery.run != nil)
    hand.pass(6)
    #expect(hand.model.link.status.reason == .ended(.idle))
    #expect(hand.model.recovery.run == nil)
    #expect(hand.model.brokenInvariants(.thorough) == [])
  }
}

extension StreamModel {
  /// Fetches an older page for the reader, and changes that.
  fileprivate mutating func change(_ body: (inout History.Fetch) -> Void) {
    var fetch = History.Fetch(below: Hand.message(1).key)
    body(&fetch)
    history.fetch = fetch
  }
}
