import HoldfastCore
import HoldfastStorage
import HoldfastWire
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
