import Holdfast
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastUI

/// Tests of the wakes that give a system's completion handler back, and of time that several features
/// share.
@Suite(.timeLimit(.minutes(60))) @MainActor struct HandlerTests {
  private let time = FakeBackgroundTime()
  private let results = Mailbox<WakeResult>()

  private func wake() -> Wake {
    Wake("test", budget: .seconds(20), time: time) { [results, time] result in
      MainActor.assertIsolated()
      #expect(
        time.openGrants == 1 || time.granted == 0, "the time lasts until the handler was called")
      results.put(result)
    }
  }

  @Test func `on the main actor, the handler is called at once, and only once`() {
    let wake = wake()
    wake.giveBack(.done)
    wake.giveBack(.later)
    #expect(results.takeAll() == [.done])
    #expect(time.openGrants == 0)
  }

  @Test func `on another thread, the handler waits for the main actor, with its time`() async {
    let wake = wake()
    await Task.detached { wake.giveBack(.done) }.value
    #expect(await results.next() == .done)
    await time.allGivenBack()
  }

  @Test func `time that expires calls a handler that waits, and then ends`() async {
    // Nothing else runs on the main actor until the end of this block.
    let wake = wake()
    let isGiven = Atomic(false)
    Task.detached {
      wake.giveBack(.done)
      isGiven.store(true, ordering: .releasing)
    }
    while !isGiven.load(ordering: .acquiring) {}
    time.expire()
    #expect(time.openGrants == 0)
    #expect(results.takeAll() == [.done])
    await Task.yield()
    #expect(results.count == 0)
  }

  @Test func `time that expires on another thread ends after the handler`() async {
    let wake = wake()
    await Task.detached { [time] in time.expire() }.value
    #expect(await results.next() == .later)
    await time.allGivenBack()
    wake.giveBack(.done)
    #expect(results.count == 0)
  }

  @Test func `a wake that is released fails`() {
    _ = wake()
    #expect(results.takeAll() == [.later])
    #expect(time.openGrants == 0)
  }

  @Test func `time that is refused leaves the handler`() {
    time.setGranting(false)
    let wake = wake()
    time.expire()
    wake.giveBack(.done)
    #expect(results.takeAll() == [.done])
  }

  // MARK: Time that features share

  @Test func `divided time is given back with the last part, as done if all are`() {
    for (parts, whole): ([WakeResult], WakeResult) in [
      ([.done, .done, .done], .done), ([.later, .done, .done], .later),
      ([.done, .later, .done], .later),
    ] {
      let wakes = wake().divided(among: 3)
      for (wake, result) in zip(wakes, parts) {
        #expect(results.count == 0)
        wake.giveBack(result)
      }
      #expect(results.takeAll() == [whole])
    }
  }

  @Test func `a part that is released counts as later`() {
    var wakes = wake().divided(among: 2)
    wakes[0].giveBack(.done)
    wakes = []
    #expect(results.takeAll() == [.later])
  }

  @Test func `an expiry reaches each part that is left`() {
    let expired = Mailbox<Int>()
    let wakes = wake().divided(among: 2)
    for (number, wake) in wakes.enumerated() { wake.onExpiry { expired.put(number) } }
    wakes[0].giveBack(.done)
    time.expire()
    #expect(expired.takeAll() == [1])
    #expect(results.takeAll() == [.later])
    wakes[1].giveBack(.done)
    #expect(results.count == 0)
  }

  // MARK: Expiry

  @Test func `what is to be done at an expiry is done once, in either order`() {
    let done = Mailbox<Int>()
    let early = Expiry()
    early.expire()
    early.onExpiry { done.put(1) }
    early.expire()
    #expect(done.takeAll() == [1])
    let late = Expiry()
    late.onExpiry { done.put(2) }
    #expect(done.count == 0)
    late.expire()
    late.expire()
    late.onExpiry { done.put(3) }
    #expect(done.takeAll() == [2])
    let dropped = Expiry()
    dropped.onExpiry { done.put(4) }
    dropped.drop()
    dropped.expire()
    #expect(done.count == 0)
  }
}
