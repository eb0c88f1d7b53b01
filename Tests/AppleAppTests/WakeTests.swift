@_spi(Script) import BackgroundTasks
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastAppleApp

/// Tests of scheduled tasks. Each test has a scheduler of its own.
@MainActor @Suite(.timeLimit(.minutes(60)))
struct WakeTests {
  private func scheduler(_ permitted: Set<String>, refreshes: Int = 1) -> BGTaskScheduler {
    BGTaskScheduler(permitted: permitted, refreshes: refreshes)
  }

  private func source(_ scheduler: BGTaskScheduler, _ tasks: [String] = []) -> SystemWakes {
    let source = SystemWakes(tasks: tasks, scheduler: scheduler)
    scheduler.endLaunch()
    return source
  }

  @Test func `satisfies the contract of a wake source`() async throws {
    // The contract has two short tasks waiting, and the system allows one.
    let scheduler = scheduler(["early", "again", "taken-back"], refreshes: 2)
    let source = source(scheduler, ["early", "again", "taken-back"])
    try await wakeSourceContract(source) { scheduler.advance(by: $0 / .seconds(1)) }
    #expect(scheduler.takeMisuses() == [])
  }

  @Test func `a task that expires is completed once`() async throws {
    let scheduler = scheduler(["refresh", "night"])
    let source = source(scheduler, ["refresh", "night"])
    let woken = Mailbox<(WakeCause, Wake)>()
    source.register { woken.put(($0, $1)) }
    for isLong in [false, true] {
      let task = scheduler.launch(isLong ? "night" : "refresh", isLong: isLong)
      let (cause, wake) = try #require(await woken.next())
      #expect(cause == .task(isLong ? "night" : "refresh"))
      #expect(wake.budget == (isLong ? .seconds(60) : .seconds(20)))
      let expired = Mailbox<Void>()
      wake.onExpiry { expired.put(()) }
      scheduler.expire(task)
      scheduler.expire(task)
      wake.giveBack(.done)
      #expect(task.completions.withLock(\.self) == [false])
      #expect(expired.count == 1)
    }
    #expect(scheduler.takeMisuses() == [])
  }

  @Test func `a task is submitted as what it needs, and refusals are distinguished`() throws {
    let scheduler = scheduler(["a", "b", "night"])
    let source = source(scheduler, ["a", "b", "night", "unknown"])
    #expect(source.refused == ["unknown"])
    try source.schedule(WakeTask("a"))
    try source.schedule(WakeTask("night", isLong: true, needsNetwork: false))
    #expect(scheduler.pending == ["processing night network=false", "refresh a"])
    #expect(throws: WakeFailure.tooMany(identifier: "b")) { try source.schedule(WakeTask("b")) }
    #expect(throws: WakeFailure.notPermitted(identifier: "unknown")) {
      try source.schedule(WakeTask("unknown"))
    }
    scheduler.setAvailable(false)
    #expect(throws: WakeFailure.unavailable(identifier: "a")) { try source.schedule(WakeTask("a")) }
    source.cancel("a")
    source.cancel("never-there")
    #expect(scheduler.pending == ["processing night network=false"])
    #expect(scheduler.takeMisuses() == [])
  }

  @Test func `tasks wait for a handler, and one that nobody keeps is completed as failed`() async {
    let scheduler = scheduler(["t"])
    let source = source(scheduler, ["t"])
    let tasks = [scheduler.launch("t"), scheduler.launch("t")]
    let woken = Mailbox<Wake>()
    source.register { woken.put($1) }
    await woken.next()?.giveBack(.done)
    _ = woken.takeAll()
    #expect(tasks.map { $0.completions.withLock(\.self) } == [[true], [false]])
    #expect(scheduler.takeMisuses() == [])
  }

  @Test(arguments: 0..<10)
  func `each task is completed once for a thousand orders of callbacks`(block: Int) async {
    for seed in (block * 100)..<(block * 100 + 100) {
      var random = RandomSource(seed: UInt64(seed))
      let scheduler = scheduler(["t"])
      let source = source(scheduler, ["t"])
      let woken = Mailbox<Wake>()
      var tasks: [BGTask] = []
      var steps = (0..<8).map { $0 % 2 }.shuffled(using: &random)
      // The handler is registered at any time.
      steps.insert(2, at: Int.random(in: 0...8, using: &random))
      for step in steps {
        switch step {
        case 0: tasks.append(scheduler.launch("t"))
        case 1: if let task = tasks.randomElement(using: &random) { scheduler.expire(task) }
        case _: source.register { woken.put($1) }
        }
        if Bool.random(using: &random) {
          woken.takeAll().randomElement(using: &random)?.giveBack(.done)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { await Task.yield() }
      }
      _ = woken.takeAll()
      #expect(tasks.allSatisfy { $0.completions.withLock(\.count) == 1 }, "seed \(seed)")
      #expect(scheduler.takeMisuses() == [], "seed \(seed)")
    }
  }
}
