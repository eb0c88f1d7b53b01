import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests that each message is shown once, in order, and that memory limits are respected.
struct DedupeTests {
  @Test(arguments: Shop.Kind.allCases)
  func `a message that comes over the socket and by REST is shown once`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    let message = world.say("twice")
    world.sendDown { .frame($0, .message(message)) }
    world.give(.refresh)
    world.pass(.seconds(5))
    world.cut()
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3", "twice"])
    #expect(world.ways.last == .live)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `recognizes a message again after a relaunch`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    let message = world.say("kept")
    world.pass(.seconds(1))
    world.kill()
    world.relaunch()
    world.drive { $0.status.state == .connected }
    world.sendDown { .frame($0, .message(message)) }
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3", "kept"])
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `memory holds 1,000 messages, and the store recognizes the rest`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 10)
    let first = world.say("the first")
    for number in 1...1100 { world.say("more \(number)") }
    world.pass(.seconds(5))
    #expect(world.model.timeline.messages.count == 1000)
    #expect(!world.model.timeline.contains(first.id))
    #expect(world.disk.messages.count == 1111)
    world.sendDown { .frame($0, .message(first)) }
    world.pass(.seconds(5))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [(999, 999), (1000, 1000), (1001, 1000)])
  func `memory holds at most its limit of messages`(count: Int, stored: Int) {
    var timeline = ShopTimeline(limit: 1000)
    var shop = Shop(.plain, id: StreamHarness.settings.shop)
    for number in 1...count {
      let time = Timestamp(nanoseconds: Int64(number))
      timeline.insert(shop.accept("\(number)", from: "a", at: time).message)
      timeline.trim()
    }
    #expect(timeline.messages == shop.ordered.suffix(stored))
  }

  @Test(arguments: Shop.Kind.allCases)
  func `memory holds 2 MB of long messages, and the store recognizes the rest`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 10)
    let first = world.say("the first")
    for number in 1...1300 { world.say("\(number) " + String(repeating: "x", count: 9_890)) }
    world.pass(.seconds(5))
    let timeline = world.model.timeline
    #expect(timeline.bytes <= 2_000_000)
    // At most 2,000,000 / (9,890 + 5 + 256 and the author) messages fit, and no more are removed
    // than necessary.
    #expect((190...197).contains(timeline.messages.count), "\(timeline.messages.count)")
    #expect(!timeline.contains(first.id))
    #expect(world.disk.messages.count == 1311)
    world.sendDown { .frame($0, .message(first)) }
    world.pass(.seconds(5))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.ledger.problems == [])
  }

  private static func broken(_ part: some SelfChecking) -> [String] {
    var check = InvariantCheck(.thorough)
    part.check(&check)
    return check.broken
  }

  /// Uses messages that take 100 + 3 + 256 bytes each.
  @Test(arguments: [(10, 10), (11, 10), (20, 10)])
  func `memory holds at most its limit of bytes`(count: UInt64, stored: Int) {
    var timeline = ShopTimeline(limit: 1000, bytes: 3_590)
    let text = String(repeating: "x", count: 100)
    for number in 1...count {
      timeline.insert(Harness.message(number, text: text))
      timeline.trim()
    }
    #expect(timeline.messages.map(\.id.low) == Array((1...count).suffix(stored)))
    #expect(timeline.bytes == stored * 359)
    #expect(timeline.isFull == (count > 10))
    #expect(Self.broken(timeline) == [])
  }

  @Test func `holds a message larger than memory, and counts edits`() {
    var timeline = ShopTimeline(limit: 1000, bytes: 500)
    timeline.insert(Harness.message(1, text: "a"))
    timeline.trim()
    timeline.insert(Harness.message(2, text: String(repeating: "x", count: 1_000)))
    timeline.trim()
    #expect(timeline.messages.map(\.id.low) == [2])
    timeline.replace(Harness.message(2, text: "b"))
    #expect(timeline.bytes == 260)
    #expect(Self.broken(timeline) == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `orders messages by creation time, then by id, however they arrive`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 0)
    let at = world.wall
    for late in [0, 30, 30, 10, 30, 20] {
      world.say("\(late) s", late: .seconds(late), isExact: true)
    }
    world.pass(.seconds(1))
    let shown = world.ledger.shown
    #expect(shown == shown.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) })
    #expect(world.texts == ["30 s", "30 s", "30 s", "20 s", "10 s", "0 s"])
    #expect(shown.last?.createdAt == at)
  }

  @Test func `frames that overtake each other are shown in order`() {
    var world = StreamHarness.connected(.ours)
    for number in 1...20 {
      let pair = [2 * number - 1, 2 * number].map { world.say("n\($0)", silently: true) }
      for message in pair.reversed() { world.sendDown { .frame($0, .message(message)) } }
      world.pass(.milliseconds(15))
    }
    world.pass(.seconds(5))
    #expect(world.texts.suffix(40) == (1...40).map { "n\($0)" })
    #expect(world.model.recovery.cursor.position == world.shop.head)
    #expect(world.ledger.problems == [])
  }

  @Test func `shows a message once that a page contains twice`() {
    var harness = Harness.connected(at: 5, head: 6)
    harness.answer(Harness.page([6, 6], head: 6))
    #expect(harness.texts == ["m6"])
  }

  private static func edited(_ number: UInt64) -> ShopMessage {
    var message = Harness.message(number, text: "edited \(number)")
    message.updatedAt = message.createdAt.advanced(by: .seconds(60))
    return message
  }

  /// The edits of two messages. The first message is being stored, and the second one waits for
  /// that.
  private static let edits: [(UInt64, [[String]])] = [
    (6, [["m6"], ["m7", "edited 6"]]), (7, [["m6"], ["edited 7"]]),
  ]

  @Test(arguments: edits)
  func `stores an edit of a message that is not stored yet`(number: UInt64, texts: [[String]]) {
    var harness = Harness.connected(at: 5)
    harness.effects = []
    harness.storesPromptly = false
    for message in [Harness.message(6), Harness.message(7), Self.edited(number)] {
      harness.receive(message)
    }
    // An older text and a repeated text have no effect.
    for message in [Harness.message(number), Self.edited(number)] { harness.receive(message) }
    harness.storesPromptly = true
    harness.storeLast()
    #expect(harness.commits.map { $0.messages.map(\.text) }.filter { !$0.isEmpty } == texts)
  }

  @Test func `an edited message is shown as an edit, in its place`() {
    var world = StreamHarness.connected(.plain)
    var edited = world.say("befor")
    world.pass(.seconds(1))
    edited.text = "before"
    edited.isEdited = true
    edited.updatedAt = world.wall
    world.sendDown { .frame($0, .message(edited)) }
    world.sendDown { .frame($0, .message(edited)) }
    world.pass(.seconds(1))
    #expect(world.ledger.updates.filter { $0 == .edited([edited]) }.count == 1)
    #expect(world.model.timeline.messages.last?.text == "before")
    #expect(world.ledger.problems == [])
  }

  @Test func `does not show an edit of a message that is stored but not shown`() throws {
    var harness = Harness.plain()
    harness.storesPromptly = false
    var message = Harness.message(5, isPlain: true)
    message.updatedAt = message.createdAt.advanced(by: .seconds(60))
    harness.receive(message)
    let commits = harness.effects.compactMap {
      if case .commit(let id, _) = $0 { id } else { CommitID?.none }
    }
    harness.give(.committed(try #require(commits.last), TimelineCommit(edited: [message.id])))
    #expect(!harness.updates.contains(.edited([message])))
  }
}
