@_spi(Script) import BackgroundTasks
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing
@_spi(Script) import UIKit

@testable import HoldfastAppleApp

/// Tests of background launches. Each test has a scheduler and an application of its own.
@MainActor @Suite(.timeLimit(.minutes(1)))
struct WakeTests {
  let application = UIApplication(.background)

  private func scheduler(_ permitted: Set<String>, refreshes: Int = 1) -> BGTaskScheduler {
    BGTaskScheduler(permitted: permitted, refreshes: refreshes)
  }

  private func source(_ scheduler: BGTaskScheduler, _ tasks: [String] = []) -> SystemWakes {
    let source = SystemWakes(
      tasks: tasks, time: AppBackgroundTime(application), scheduler: scheduler)
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

  @Test func `an upload wake and a push wait for a handler, and each answers once`() async {
    let source = source(scheduler([]))
    let called = Mailbox<String>()
    source.put(uploadsOf: "sync") {
      MainActor.assertIsolated()
      called.put("uploads")
    }
    source.put(pushWith: { result in
      MainActor.assertIsolated()
      called.put("push \(result)")
    })
    #expect(application.openTasks == ["Holdfast uploads", "Holdfast push"])
    let woken = Mailbox<(WakeCause, Wake)>()
    source.register { woken.put(($0, $1)) }
    let wakes = await woken.next(2)
    #expect(wakes.map(\.0) == [.uploads(session: "sync"), .push])
    for (_, wake) in wakes {
      wake.giveBack(.done)
      wake.giveBack(.later)
    }
    #expect(Set(await called.next(2)) == ["uploads", "push newData"])
    while !application.openTasks.isEmpty { await Task.yield() }
    #expect(called.count == 0)
    #expect(application.takeMisuses() == [])
  }

  @Test func `a push that nobody handles fails when its wake is released`() async {
    let called = Mailbox<UIBackgroundFetchResult>()
    let source = source(scheduler([]))
    source.register { _, _ in }
    source.put(pushWith: { called.put($0) })
    #expect(await called.next() == .failed)
  }

  @Test func `an upload wake whose time expires is given back once`() async {
    let called = Mailbox<Void>()
    let source = source(scheduler([]))
    let woken = Mailbox<Wake>()
    source.register { woken.put($1) }
    source.put(uploadsOf: "sync") { called.put(()) }
    let wake = await woken.next()
    let expired = Mailbox<Void>()
    wake?.onExpiry { expired.put(()) }
    application.expireTasks()
    _ = await called.next()
    wake?.giveBack(.done)
    #expect(expired.count == 1)
    #expect(application.takeMisuses() == [])
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
}
