import Glibc
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastLinuxDevice

/// Tests of signals. They run serially, because a signal affects the whole process.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SignalLifecycleTests {
  @Test func `satisfies the contract of a lifecycle monitor and maps each signal to its event`()
    async throws
  {
    var signals = [SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGCONT].makeIterator()
    try await lifecycleMonitorContract(
      SignalLifecycle(), events: [.background, .foreground, .terminate, .terminate, .didWake]
    ) { _ in
      if let signal = signals.next() { kill(getpid(), signal) }
    }
  }

  @Test
  func `a retry request is delivered after a simultaneous foreground event, and only if enabled`()
    async throws
  {
    var signals = [SIGHUP, SIGUSR2].makeIterator()
    try await lifecycleMonitorContract(
      SignalLifecycle(hangup: true), events: [.again, .foreground]
    ) { _ in
      if let signal = signals.next() { kill(getpid(), signal) }
    }
    var both = SignalLifecycle(hangup: true).changes().makeAsyncIterator()
    for round in 1...300 {
      for signal in [SIGUSR2, SIGHUP] { kill(getpid(), signal) }
      let events = [await both.next()?.event, await both.next()?.event]
      try #require(events == [.foreground, .again], "round \(round)")
    }
    var plain = SignalLifecycle().changes().makeAsyncIterator()
    for signal in [SIGHUP, SIGUSR1] { kill(getpid(), signal) }
    #expect(await plain.next()?.event == .background)
  }

  @Test(arguments: [[SIGUSR1, SIGUSR2], [SIGUSR2, SIGUSR1]])
  func `simultaneous background and foreground signals end in the foreground`(signals: [Int32])
    async throws
  {
    var events = SignalLifecycle().changes().makeAsyncIterator()
    for signal in signals { kill(getpid(), signal) }
    var seen = [await events.next()?.event, await events.next()?.event]
    // The kernel does not keep the order of pending signals.
    if seen == [.foreground, .background] { seen.append(await events.next()?.event) }
    #expect(seen.last == .foreground)
  }

  @Test func `the merged stream delivers the events of all sources and ends after the last`() async
  {
    let merged = SystemLifecycle(merging: [
      Fixed(events: [.willSleep]), Fixed(events: []), Fixed(events: [.foreground, .terminate]),
    ])
    var seen: Set<LifecycleEvent> = []
    for await notice in merged.changes() { seen.insert(notice.event) }
    #expect(seen == [.willSleep, .foreground, .terminate])
  }

  @Test func `the merged stream reports signals even if sleep cannot be monitored`() async {
    let merged = SystemLifecycle(merging: [
      SignalLifecycle(), LogindLifecycle(address: "unix:path=/nowhere"),
    ])
    var changes = merged.changes().makeAsyncIterator()
    kill(getpid(), SIGUSR2)
    #expect(await changes.next()?.event == .foreground)
  }
}

private struct Fixed: LifecycleMonitor {
  var events: [LifecycleEvent]

  func changes() -> AsyncStream<LifecycleNotice> {
    AsyncStream { continuation in
      for event in events { continuation.yield(LifecycleNotice(event)) }
      continuation.finish()
    }
  }
}
