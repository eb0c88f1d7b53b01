import HoldfastLinuxDevice
import HoldfastPorts
import Testing

/// Tests of a lifecycle source that several links share.
@Suite(.timeLimit(.minutes(60))) struct SharedLifecycleTests {
  @Test func `later readers receive the earlier events, and all receive the next one`() async {
    let (source, system) = AsyncStream.makeStream(of: LifecycleNotice.self)
    let shared = SharedLifecycle(source)
    var first = shared.changes().makeAsyncIterator()
    system.yield(LifecycleNotice(.background))
    #expect(await first.next()?.event == .background)
    var second = shared.changes().makeAsyncIterator()
    #expect(await second.next()?.event == .background)
    system.yield(LifecycleNotice(.foreground))
    #expect(await first.next()?.event == .foreground)
    #expect(await second.next()?.event == .foreground)
  }

  // The runtime holds the lock of a task while it tells a stream that the task was cancelled.
  @Test func `events and readers that are cancelled do not wait for each other`() async {
    let (source, system) = AsyncStream.makeStream(
      of: LifecycleNotice.self, bufferingPolicy: .bufferingNewest(64))
    let shared = SharedLifecycle(source)
    let sending = Task.detached {
      while !Task.isCancelled {
        system.yield(LifecycleNotice(.background))
        await Task.yield()
      }
    }
    await withTaskGroup { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<2_000 {
            let reading = Task { for await _ in shared.changes() {} }
            for _ in 0..<3 { await Task.yield() }
            reading.cancel()
            await reading.value
          }
        }
      }
    }
    sending.cancel()
    await sending.value
  }
}
