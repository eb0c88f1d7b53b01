import Testing

@testable import HoldfastDriver

@Suite(.timeLimit(.minutes(60)))
struct InboxTests {
  @Test
  func `returns inputs in the order of posting`() async {
    let inbox = Inbox<Int>(limit: 10)
    #expect(await inbox.post(1))
    #expect(inbox.tryPost(2))
    #expect(inbox.take() == 1)
    #expect(await inbox.post(3))
    #expect(inbox.take() == 2)
    #expect(inbox.take() == 3)
    #expect(inbox.take() == nil)
  }

  @Test
  func `accepts inputs up to its limit and refuses the next one`() {
    let inbox = Inbox<Int>(limit: 2)
    #expect(inbox.tryPost(1))
    #expect(inbox.tryPost(2))
    #expect(!inbox.tryPost(3))
    #expect(inbox.take() == 1)
    #expect(inbox.tryPost(4))
    #expect(inbox.counters == counters(accepted: 3, refused: 1, longest: 2))
  }

  @Test
  func `delayed posts are accepted in order`() async {
    let inbox = Inbox<Int>(limit: 1)
    #expect(inbox.tryPost(0))
    let first = Task { await inbox.post(1) }
    await delayed(1, in: inbox)
    let second = Task { await inbox.post(2) }
    await delayed(2, in: inbox)
    #expect(!inbox.tryPost(9))
    #expect([inbox.take(), inbox.take(), inbox.take(), inbox.take()] == [0, 1, 2, nil])
    #expect(await first.value)
    #expect(await second.value)
    #expect(inbox.counters == counters(accepted: 3, delayed: 2, refused: 1, longest: 1))
  }

  @Test
  func `a cancelled post leaves the queue`() async {
    let inbox = Inbox<Int>(limit: 1)
    #expect(inbox.tryPost(0))
    let waiting = Task { await inbox.post(1) }
    await delayed(1, in: inbox)
    waiting.cancel()
    #expect(await waiting.value == false)
    #expect([inbox.take(), inbox.take()] == [0, nil])
  }

  @Test
  func `a post whose task is already cancelled is refused`() async {
    let inbox = Inbox<Int>(limit: 1)
    let posted = await Task {
      unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
      return await inbox.post(1)
    }.value
    #expect(!posted)
    #expect(inbox.take() == nil)
  }

  @Test(arguments: [
    (count: 2, delayed: 0, longest: 2), (3, 0, 3), (4, 1, 3), (9, 6, 3),
  ])
  func `more inputs than fit are accepted in order as space becomes free`(
    count: Int, delayed: UInt64, longest: Int
  ) async {
    let inbox = Inbox<Int>(limit: 3)
    let poster = Task { await inbox.post(contentsOf: Array(0..<count)) }
    var taken: [Int] = []
    while taken.count < count {
      while inbox.counters.accepted == taken.count { await Task.yield() }
      if delayed > 0, taken.isEmpty { await self.delayed(delayed, in: inbox) }
      if let next = inbox.take() { taken.append(next) }
    }
    #expect(taken == Array(0..<count))
    #expect(await poster.value)
    #expect(
      inbox.counters
        == counters(accepted: UInt64(count), delayed: delayed, longest: min(longest, count)))
  }

  @Test
  func `inputs that wait are queued together once a quarter of the space is free`() async {
    let inbox = Inbox<Int>(limit: 8)
    let waiting = Task { await inbox.post(contentsOf: Array(0..<11)) }
    await delayed(3, in: inbox)
    #expect(inbox.take() == 0)
    #expect(inbox.counters.accepted == 8)
    #expect(!inbox.tryPost(99))
    #expect(inbox.take() == 1)
    #expect(inbox.counters.accepted == 10)
    #expect((2...11).map { _ in inbox.take() } == Array(2...10) + [nil])
    #expect(await waiting.value)
  }

  @Test
  func `inputs posted together are not interleaved with others`() async {
    let inbox = Inbox<Int>(limit: 2)
    let first = Task { await inbox.post(contentsOf: [1, 2, 3]) }
    await delayed(1, in: inbox)
    let second = Task { await inbox.post(contentsOf: [4, 5]) }
    await delayed(3, in: inbox)
    #expect((1...6).map { _ in inbox.take() } == [1, 2, 3, 4, 5, nil])
    #expect(await first.value)
    #expect(await second.value)
  }

  @Test
  func `a cancelled post of several inputs keeps only those already accepted`() async {
    let inbox = Inbox<Int>(limit: 2)
    let waiting = Task { await inbox.post(contentsOf: [1, 2, 3, 4]) }
    await delayed(2, in: inbox)
    waiting.cancel()
    #expect(await waiting.value == false)
    #expect([inbox.take(), inbox.take(), inbox.take()] == [1, 2, nil])
    #expect(inbox.counters == counters(accepted: 2, delayed: 2, refused: 2, longest: 2))
  }

  @Test
  func `closing refuses delayed posts and keeps queued inputs`() async {
    let inbox = Inbox<Int>(limit: 1)
    #expect(inbox.tryPost(0))
    let waiting = Task { await inbox.post(1) }
    await delayed(1, in: inbox)
    inbox.close()
    #expect(await waiting.value == false)
    #expect(await inbox.post(2) == false)
    #expect(!inbox.tryPost(3))
    #expect([inbox.take(), inbox.take()] == [0, nil])
  }

  @Test
  func `news starts a turn, or keeps the present one from ending`() async {
    let inbox = Inbox<Int>(limit: 2)
    let (started, starting) = AsyncStream.makeStream(of: Void.self)
    var turns = started.makeAsyncIterator()
    #expect(inbox.tryPost(1))
    inbox.open { starting.yield() }
    await turns.next()
    #expect(!inbox.rest(), "an input is left")
    #expect(inbox.take() == 1)
    inbox.nudge()
    #expect(!inbox.rest(), "the nudge came during the turn")
    #expect(inbox.rest())
    inbox.nudge()
    await turns.next()
    #expect(inbox.rest())
    #expect(inbox.tryPost(2))
    await turns.next()
    #expect(inbox.tryPost(3), "an input during a turn starts no other one")
    inbox.continueLater()
    await turns.next()
    inbox.stop()
    #expect(inbox.isStopping)
    inbox.close()
    inbox.nudge()
    starting.finish()
    #expect(await turns.next() == nil, "each turn was started once")
  }

  @Test
  func `loses nothing between many posters and one reader`() async {
    let inbox = Inbox<Int>(limit: 3)
    let (taken, taking) = AsyncStream.makeStream(of: Int.self)
    inbox.open {
      repeat {
        while let number = inbox.take() { taking.yield(number) }
      } while !inbox.rest()
    }
    for poster in 0..<8 {
      Task { for number in 0..<200 { await inbox.post(poster * 200 + number) } }
    }
    let sum = await taken.prefix(1_600).reduce(0, +)
    #expect(sum == (0..<1_600).reduce(0, +))
    #expect(inbox.counters.longest <= 3)
  }

  /// Waits until `count` inputs have been delayed because the inbox was full.
  private func delayed(_ count: UInt64, in inbox: Inbox<Int>) async {
    while inbox.counters.delayed < count { await Task.yield() }
  }

  private func counters(
    accepted: UInt64 = 0, delayed: UInt64 = 0, refused: UInt64 = 0, longest: Int = 0
  ) -> InboxCounters {
    var counters = InboxCounters()
    (counters.accepted, counters.delayed) = (accepted, delayed)
    (counters.refused, counters.longest) = (refused, longest)
    return counters
  }
}
