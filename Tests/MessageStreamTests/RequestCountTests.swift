import HoldfastCore
import Testing

@testable import HoldfastMessageStream

/// Tests of the number of requests that a stream sends, compared with a client that only polls.
struct RequestCountTests {
  /// Returns the number of requests and upgrades within an hour in which one message arrives every
  /// minute.
  private func requests(_ kind: Shop.Kind, prepare: (inout StreamHarness) -> Void) -> Int {
    var world = StreamHarness.connected(kind)
    prepare(&world)
    world.pass(.seconds(30))
    world.log = Log()
    for number in 1...60 {
      world.say("n\(number)")
      world.pass(.seconds(60))
    }
    #expect(world.texts.count == 63)
    return world.log.fetches.count + world.log.opens.count
  }

  @Test(arguments: Shop.Kind.allCases)
  func `an open stream sends no requests`(kind: Shop.Kind) {
    #expect(requests(kind) { _ in } == 0)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `two losses an hour cost less than a tenth of polling`(kind: Shop.Kind) {
    let polls = requests(kind) { $0.give(.realtime(false)) }
    #expect((110...260).contains(polls))
    var world = StreamHarness.connected(kind)
    world.log = Log()
    for _ in 1...2 {
      world.pass(.seconds(1800))
      world.cut()
    }
    world.pass(.seconds(60))
    #expect((world.log.fetches.count + world.log.opens.count) * 10 < polls)
  }
}
