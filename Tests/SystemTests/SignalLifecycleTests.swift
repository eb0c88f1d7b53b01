import Glibc
import LinkRuntime
import Testing

@testable import LifecycleSystem

/// Signals belong to the whole process, so these run one after the other.
@Suite(.serialized, .timeLimit(.minutes(1))) struct SignalLifecycleTests {
  @Test func `each signal is its event`() async {
    var changes = SignalLifecycle().changes().makeAsyncIterator()
    for (signal, event) in [
      (SIGUSR1, LifecycleEvent.background), (SIGUSR2, .foreground), (SIGTERM, .terminate),
      (SIGINT, .terminate), (SIGCONT, .didWake),
    ] {
      kill(getpid(), signal)
      #expect(await changes.next() == event)
    }
  }

  @Test func `two streams hear the same signal`() async {
    let lifecycle = SignalLifecycle()
    var first = lifecycle.changes().makeAsyncIterator()
    var second = lifecycle.changes().makeAsyncIterator()
    kill(getpid(), SIGUSR1)
    #expect(await first.next() == .background)
    #expect(await second.next() == .background)
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
