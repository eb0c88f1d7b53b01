import Glibc
import HoldfastTestKit
import LinkRuntime
import Testing

@testable import LifecycleSystem

/// Signals belong to the whole process, so these run one after the other.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SignalLifecycleTests {
  @Test func `keeps the contract of a lifecycle monitor, each signal being its event`() async throws
  {
    var signals = [SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGCONT].makeIterator()
    try await lifecycleMonitorContract(
      SignalLifecycle(), events: [.background, .foreground, .terminate, .terminate, .didWake]
    ) { _ in
      if let signal = signals.next() { kill(getpid(), signal) }
    }
  }

  @Test func `the merged stream carries the events of all and ends after the last`() async {
    let merged = SystemLifecycle(merging: [
      Fixed(events: [.willSleep]), Fixed(events: []), Fixed(events: [.foreground, .terminate]),
    ])
    var seen: Set<LifecycleEvent> = []
    for await event in merged.changes() { seen.insert(event) }
    #expect(seen == [.willSleep, .foreground, .terminate])
  }

  @Test func `the system's stream hears signals even where sleep cannot be watched`() async {
    let merged = SystemLifecycle(merging: [
      SignalLifecycle(), LogindLifecycle(address: "unix:path=/nowhere"),
    ])
    var changes = merged.changes().makeAsyncIterator()
    kill(getpid(), SIGUSR2)
    #expect(await changes.next() == .foreground)
  }
}

private struct Fixed: LifecycleMonitor {
  var events: [LifecycleEvent]

  func changes() -> AsyncStream<LifecycleEvent> {
    AsyncStream { continuation in
      for event in events { continuation.yield(event) }
      continuation.finish()
    }
  }
}
