import LinkCore
import LinkSimulator
import Testing

struct ShrinkTests {
  private let plan: Plan = {
    var weather = Weather()
    weather.loss = 0.1
    weather.history = 60
    var plan = Plan(
      seed: 7, server: .plain, weather: weather, actions: [], length: .seconds(4000))
    for index in 0..<40 {
      plan.actions.append(
        Planned(at: .seconds(index * 60), index == 20 ? .reset : .others(messages: index + 1)))
    }
    plan.actions[30] = Planned(at: .milliseconds(1_800_500), .crash(for: .seconds(95)))
    return plan
  }()

  @Test func `keeps only what it takes to fail`() {
    var shrink = Shrink(plan) { plan in
      plan.actions.contains { $0.action == .reset }
        && plan.actions.contains { $0.action.length >= .seconds(5) }
    }
    shrink.run()
    #expect(shrink.plan.actions.map(\.action) == [.reset, .crash(for: .seconds(5))])
    #expect(shrink.plan.actions.map(\.at) == [.seconds(1), .seconds(2)])
    #expect(shrink.plan.length == .seconds(8))
    #expect(shrink.plan.weather.loss == 0)
    #expect(shrink.plan.weather.history == 0)
    #expect(shrink.plan.seed == 7)
  }

  @Test func `keeps the number that matters`() {
    var shrink = Shrink(plan) { plan in
      plan.weather.loss > 0 && plan.actions.contains { $0.action == .others(messages: 5) }
    }
    shrink.run()
    #expect(shrink.plan.weather.loss == 0.1)
    #expect(shrink.plan.weather.history == 0)
    #expect(shrink.plan.actions.map(\.action) == [.others(messages: 5)])
  }

  @Test func `tries no more plans than it may`() {
    for limit in [0, 1, 5] {
      var tries = 0
      var shrink = Shrink(plan, limit: limit) { _ in
        tries += 1
        return false
      }
      shrink.run()
      #expect(shrink.tries == limit)
      #expect(tries == limit)
      #expect(shrink.plan == plan)
    }
  }

  @Test func `the same plan becomes the same plan`() {
    let shrunk = (0..<2).map { _ in
      var shrink = Shrink(plan) { $0.actions.count > 3 }
      shrink.run()
      return shrink.plan
    }
    #expect(shrunk[0] == shrunk[1])
    #expect(shrunk[0].actions.count == 4)
  }

  @Test func `what lasts says how long`() {
    #expect(Action.crash(for: .seconds(3)).length == .seconds(3))
    #expect(Action.captivePortal(for: .seconds(4), isKnown: true).length == .seconds(4))
    #expect(Action.reset.length == .zero)
  }
}
