import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// The ledger can fail: each thing that the model is careful about, left out.
struct LedgerTests {
  private func tell(_ kind: Shop.Kind, _ sabotage: StreamWorld.Sabotage?) -> [String] {
    var world = StreamWorld.connected(kind)
    world.sabotage = sabotage
    world.background()
    world.pass(.seconds(5))
    world.foreground()
    world.drive { !$0.log.opens.isEmpty && $0.log.opens.count == 2 }
    let early = world.say("in the hole", silently: true)
    world.pass(.seconds(5))
    world.kill()
    world.say("between two runs", silently: true)
    world.relaunch()
    world.pass(.seconds(5))
    for number in 1...1100 { world.say("n\(number)") }
    world.pass(.seconds(5))
    world.sendDown { .frame($0, .message(early)) }
    world.pass(.seconds(5))
    world.scrollToTheBeginning()
    world.ledger.settle(with: world.shop.ordered)
    return world.ledger.problems
  }

  @Test(arguments: Shop.Kind.allCases)
  func `the model as it is has no problem`(kind: Shop.Kind) {
    #expect(tell(kind, nil) == [])
  }

  @Test func `a fetch after the connect that finds nothing is a loss`() {
    var world = StreamWorld.connected(.plain)
    world.sabotage = .emptyCatchUp
    world.background()
    world.pass(.seconds(500))
    world.foreground()
    world.drive { $0.log.opens.count == 2 }
    world.say("in the hole", silently: true)
    world.pass(.seconds(5))
    world.ledger.settle(with: world.shop.ordered)
    #expect(world.ledger.problems == ["lost 1: [\"in the hole\"]"])
  }

  @Test func `a cursor beyond a hole is a loss`() {
    var world = StreamWorld.connected(.ours)
    world.sabotage = .eagerCursor
    world.disk.delay = .seconds(1)
    world.say("lost", silently: true)
    world.background()
    world.pass(.seconds(2))
    world.kill()
    world.relaunch()
    world.pass(.seconds(5))
    world.ledger.settle(with: world.shop.ordered)
    #expect(world.ledger.problems == ["lost 1: [\"lost\"]"])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a window in memory without the store shows messages twice`(kind: Shop.Kind) {
    var world = StreamWorld.connected(kind, messages: 30) { $0.memory = 10 }
    world.sabotage = .forgetfulStore
    for number in 1...20 { world.say("n\(number)") }
    world.pass(.seconds(5))
    world.shop.ignoresSince = true
    if kind == .ours { world.shop.beginAnew(keeping: 30) }
    world.cut()
    world.pass(.seconds(5))
    #expect(world.ledger.problems.contains { $0.hasPrefix("shown twice: ") })
  }
}
