import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastWorlds
import Testing

struct ShrinkTests {
  private let plan: Plan = {
    var plan = Plan(seed: 7, server: .plain, events: [], length: .seconds(4000))
    plan.networkConditions.loss = 0.1
    plan.numbers.history = 60
    for index in 0..<40 {
      plan.events.append(
        Planned(at: .seconds(index * 60), index == 20 ? Action(.reset) : Action(.others, index + 1))
      )
    }
    plan.events[30] = Planned(at: .milliseconds(1_800_500), Action(.crash, for: .seconds(95)))
    return plan
  }()

  @Test func `keeps only the events needed to fail`() {
    var shrink = Shrink<StreamFeature>(plan) { plan in
      plan.events.contains { $0.event == Action(.reset) }
        && plan.events.contains { $0.event.length >= .seconds(5) }
    }
    shrink.run()
    #expect(shrink.plan.events.map(\.event) == [Action(.reset), Action(.crash, for: .seconds(5))])
    #expect(shrink.plan.events.map(\.at) == [.seconds(1), .seconds(2)])
    #expect(shrink.plan.length == .seconds(8))
    #expect(shrink.plan.networkConditions.loss == 0)
    #expect(shrink.plan.numbers.history == 0)
    #expect(shrink.plan.seed == 7)
  }

  @Test func `keeps a number that the failure needs`() {
    var shrink = Shrink<StreamFeature>(plan) { plan in
      plan.networkConditions.loss > 0 && plan.events.contains { $0.event == Action(.others, 5) }
    }
    shrink.run()
    #expect(shrink.plan.networkConditions.loss == 0.1)
    #expect(shrink.plan.numbers.history == 0)
    #expect(shrink.plan.events.map(\.event) == [Action(.others, 5)])
  }

  @Test func `tries no more plans than its limit`() {
    for limit in [0, 1, 5] {
      var tries = 0
      var shrink = Shrink<StreamFeature>(plan, limit: limit) { _ in
        tries += 1
        return false
      }
      shrink.run()
      #expect(shrink.tries == limit)
      #expect(tries == limit)
      #expect(shrink.plan == plan)
    }
  }

  @Test func `shrinks equal plans to equal plans`() {
    let shrunk = (0..<2).map { _ in
      var shrink = Shrink<StreamFeature>(plan) { $0.events.count > 3 }
      shrink.run()
      return shrink.plan
    }
    #expect(shrunk[0] == shrunk[1])
    #expect(shrunk[0].events.count == 4)
  }

  @Test func `events with a duration report it`() {
    #expect(Action(.crash, for: .seconds(3)).length == .seconds(3))
    #expect(Action(.captivePortal, 0, "known", for: .seconds(4)).length == .seconds(4))
    #expect(Action(.reset).length == .zero)
  }
}
