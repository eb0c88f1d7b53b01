import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of a log of another epoch with the same messages, some of which were edited or deleted.
struct NewEpochTests {
  /// Returns a phone whose server began another epoch after edits and deletions that the phone did
  /// not receive.
  private static func world(
    _ count: Int, isKilled: Bool, hasEvents: Bool = true, memory: Int = 1_000
  ) -> StreamHarness {
    var world =
      hasEvents
      ? StreamHarness.withEvents(messages: count) { $0.memory = memory }
      : .connected(.ours, messages: count) { $0.memory = memory }
    world.scrollToTheBeginning()
    if isKilled { world.kill() } else { world.change(to: .unreachable) }
    for number in [5, count / 2, count - 60, count - 45, count - 10, count] where number > 0 {
      world.delete("m\(number)", silently: true)
    }
    for number in [6, count / 2 + 1, count - 59, count - 44, count - 9] where number > 0 {
      world.edit("m\(number)", to: "e\(number)", silently: true)
    }
    world.shop.beginEpoch()
    return world
  }

  private static func comesBack(_ world: inout StreamHarness, isKilled: Bool) {
    if isKilled { world.relaunch() } else { world.change(to: .reachable(path: PathID("w"))) }
    world.driveToTheHead()
    world.pass(.seconds(5))
  }

  @Test(arguments: [20, 90, 200, 500], [false, true])
  func `what was deleted and edited before the epoch is gone and changed`(
    count: Int, isKilled: Bool
  ) {
    for hasEvents in [true, false] {
      var world = Self.world(count, isKilled: isKilled, hasEvents: hasEvents)
      Self.comesBack(&world, isKilled: isKilled)
      let server = Dictionary(uniqueKeysWithValues: world.shop.log.map { ($0.id, $0.text) })
      for message in world.ledger.shown { #expect(server[message.id] == message.text) }
      world.scrollToTheBeginning()
      world.pass(.seconds(5))
      #expect(world.texts == world.shop.ordered.map(\.text))
      #expect(Set(world.disk.messages.values.map(\.text)) == Set(world.shop.log.map(\.text)))
      #expect(world.disk.messages.values.allSatisfy { $0.position?.epoch == world.shop.epoch })
      #expect(world.model.gaps == [] && world.ledger.problems == [])
    }
  }

  @Test func `what is no longer in memory is removed with the page that covers it`() {
    var world = Self.world(300, isKilled: true, memory: 40)
    Self.comesBack(&world, isKilled: true)
    world.scrollToTheBeginning()
    world.pass(.seconds(5))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.disk.messages.count == world.shop.log.count)
    #expect(world.ledger.problems == [])
  }

  @Test func `events after the epoch are followed, and nothing is fetched again`() {
    var world = Self.world(90, isKilled: true)
    Self.comesBack(&world, isKilled: true)
    world.scrollToTheBeginning()
    world.log = Log()
    world.say("live")
    world.edit("m20", to: "later")
    world.delete("m21")
    world.pass(.seconds(5))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.log.fetches.isEmpty && world.model.isWhole)
    #expect(world.ledger.problems == [])
  }

  @Test func `a catch-up that is cut off begins again at the newest page`() {
    var world = Self.world(500, isKilled: true)
    world.relaunch()
    world.scrollToTheBeginning()
    world.kill()
    world.relaunch()
    Self.comesBack(&world, isKilled: false)
    world.scrollToTheBeginning()
    world.pass(.seconds(5))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.ledger.problems == [])
  }

  /// Returns a message of another log with this offset.
  private static func other(_ message: ShopMessage, at offset: UInt64) -> ShopMessage {
    var other = message
    other.position = ShopPosition(epoch: "f", offset: offset)
    return other
  }

  @Test(arguments: [false, true], [false, true])
  func `only a message that is kept from another log shows that a log goes on`(
    isShared: Bool, isStored: Bool
  ) throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    for number in UInt64(6)...8 { harness.receive(Harness.message(number)) }
    harness.lose()
    var log = (UInt64(2)...4).map { Self.other(Harness.other($0), at: $0) }
    log.insert(
      Self.other(isShared ? Harness.message(8) : Harness.other(1), at: 1), at: 0)
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: log[3].position))
    harness.storesPromptly = isStored
    harness.receive(log[3])
    if !isStored { harness.storesPromptly = true }
    harness.answer(Page(messages: log, hasNext: false, head: log[3].position, recovered: false))
    if !isStored { harness.storeLast() }
    let covered = harness.commits.flatMap(\.covered)
    let bounds = isShared ? (nil, nil) : (log[0].key, log[3].key)
    #expect(covered == [CoveredRange(epoch: "f", start: bounds.0, end: bounds.1)])
    #expect(harness.model.gaps.isEmpty == isShared)
  }

  @Test(arguments: [(90, 9, 0), (100, 10, 0), (110, 10, 1)])
  func `ten pages of a new log are fetched at the most, and a gap hides the rest`(
    count: Int, pages: Int, gaps: Int
  ) {
    var world = StreamHarness.withEvents(messages: count) { $0.catchUpPage = 10 }
    world.scrollToTheBeginning()
    #expect(world.ledger.shown.count == count)
    world.change(to: .unreachable)
    world.shop.beginEpoch()
    world.log = Log()
    Self.comesBack(&world, isKilled: false)
    #expect(world.log.fetches.count == pages && world.model.gaps.count == gaps)
    world.scrollToTheBeginning()
    #expect(world.model.gaps == [] && world.texts == world.shop.ordered.map(\.text))
    #expect(world.ledger.problems == [])
  }

  /// The messages of the cases that were deleted just below the pages of the catch-up, below pages
  /// that were found by counting from there, and below those counted from the newest message.
  private static let boundaries = [(false, 50), (true, 100), (false, 10)]

  @Test(arguments: boundaries)
  func `what lies between two pages is removed, also below a gap that is not in memory`(
    isKilled: Bool, number: Int
  ) {
    var world = StreamHarness.withEvents(messages: 150) {
      ($0.memory, $0.catchUpPage, $0.historyPage) = (40, 10, 10)
    }
    world.scrollToTheBeginning()
    if isKilled { world.kill() } else { world.change(to: .unreachable) }
    world.delete("m\(number)", silently: true)
    world.shop.beginEpoch()
    Self.comesBack(&world, isKilled: isKilled)
    world.scrollToTheBeginning()
    world.pass(.seconds(5))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(Set(world.disk.messages.values.map(\.text)) == Set(world.shop.log.map(\.text)))
    #expect(world.model.gaps == [] && world.ledger.problems == [])
  }

  @Test func `a log that was put back and then begins another epoch removes no message it has`() {
    var world = StreamHarness.withEvents(messages: 30)
    world.scrollToTheBeginning()
    world.change(to: .unreachable)
    world.shop.putBack(by: 1)
    Self.comesBack(&world, isKilled: false)
    let forgotten = world.model.timeline.messages.filter { $0.position == nil }
    #expect(forgotten.count >= 29)
    world.change(to: .unreachable)
    world.shop.beginEpoch()
    Self.comesBack(&world, isKilled: false)
    let server = Set(world.shop.log.map(\.text))
    #expect(Set(world.disk.messages.values.map(\.text)) == server)
    #expect(world.disk.messages.values.allSatisfy { $0.position?.epoch == world.shop.epoch })
    let positions = world.model.timeline.messages.map(\.position)
    #expect(positions == world.shop.ordered.map(\.position))
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.model.gaps == [] && world.ledger.problems == [])
  }

  @Test func `an unchanged message is not reported as edited`() {
    var world = StreamHarness.withEvents(messages: 20)
    world.edit("m3", to: "e3")
    world.pass(.seconds(5))
    world.kill()
    world.shop.beginEpoch()
    world.relaunch()
    world.driveToTheHead()
    world.pass(.seconds(5))
    let edits = world.ledger.updates.filter { if case .edited = $0 { true } else { false } }
    #expect(edits == [])
    #expect(world.disk.messages.values.allSatisfy { $0.position?.epoch == world.shop.epoch })
  }
}
