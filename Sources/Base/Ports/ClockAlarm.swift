import HoldfastCore
import Synchronization

/// A call of a function at an instant that changes often, as the deadline of a machine does.
package protocol ClockAlarm: Sendable {
  /// Calls the function once at `instant`, instead of the instant that was set before.
  ///
  /// If the instant has passed, the function is called soon. It never runs within this call.
  func set(at instant: Instant)

  /// Removes the instant that was set. A call that has begun goes on.
  func clear()
}

/// A clock with alarms that cost no task each.
package protocol AlarmClock: LinkClock {
  /// Returns an alarm without an instant. Releasing it clears it.
  func alarm(_ ring: @escaping @Sendable () -> Void) -> any ClockAlarm
}

extension LinkClock {
  /// Returns an alarm without an instant. Releasing it clears it.
  package func makeAlarm(_ ring: @escaping @Sendable () -> Void) -> any ClockAlarm {
    (self as? any AlarmClock)?.alarm(ring) ?? TaskAlarm(self, ring)
  }
}

extension BootClock: AlarmClock {
  package func alarm(_ ring: @escaping @Sendable () -> Void) -> any ClockAlarm {
    BootAlarm(.shared, ring)
  }
}

/// An alarm for any clock, with a task for each instant.
private final class TaskAlarm: ClockAlarm {
  private let clock: any LinkClock
  private let ring: @Sendable () -> Void
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(_ clock: any LinkClock, _ ring: @escaping @Sendable () -> Void) {
    (self.clock, self.ring) = (clock, ring)
  }

  deinit { clear() }

  func set(at instant: Instant) {
    replace(
      by: Task { [clock, ring] in
        if (try? await clock.wait(until: instant)) != nil { ring() }
      })
  }

  func clear() { replace(by: nil) }

  private func replace(by next: Task<Void, Never>?) {
    let last = task.withLock { task in
      defer { task = next }
      return task
    }
    last?.cancel()
  }
}

/// An alarm of the boot clock. All of them share one sleeping task.
private final class BootAlarm: ClockAlarm {
  private let alarms: BootAlarms
  private let number: UInt64

  init(_ alarms: BootAlarms, _ ring: @escaping @Sendable () -> Void) {
    self.alarms = alarms
    number = alarms.add(ring)
  }

  deinit { alarms.remove(number) }

  func set(at instant: Instant) { alarms.set(number, at: instant) }

  func clear() { alarms.clear(number) }
}

/// The alarms of a process, and the task that sleeps until the first one.
///
/// An alarm that is set to a later instant keeps its place until the earlier instant, when it is
/// placed again. So a deadline that each message moves costs no timer each time, and at most one
/// needless wake for each time that the deadline lasts.
private final class BootAlarms: Sendable {
  private struct Entry {
    let ring: @Sendable () -> Void
    var instant: Instant?
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var queue = AlarmQueue<UInt64>()
    var last: UInt64 = 0
    var sleep: (until: Instant, task: Task<Void, Never>)?
  }

  static let shared = BootAlarms()

  private let clock = BootClock()
  private let state = Mutex(State())

  func add(_ ring: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.entries[state.last] = Entry(ring: ring)
      return state.last
    }
  }

  func remove(_ number: UInt64) {
    // The function is released outside the lock: it may own the last reference to other alarms.
    let entry = state.withLock { state in
      state.queue.clear(number)
      return state.entries.removeValue(forKey: number)
    }
    withExtendedLifetime(entry) {}
  }

  func clear(_ number: UInt64) {
    state.withLock { $0.entries[number]?.instant = nil }
  }

  func set(_ number: UInt64, at instant: Instant) {
    state.withLock { state in
      state.entries[number]?.instant = instant
      guard !state.queue.rings(number, by: instant) else { return }
      state.queue.set(number, at: instant)
      sleep(&state)
    }
  }

  /// Starts to sleep until the first alarm, unless a task sleeps until then or less long.
  private func sleep(_ state: inout State) {
    guard let first = state.queue.first else { return }
    if let sleep = state.sleep {
      if sleep.until <= first { return }
      sleep.task.cancel()
    }
    // All alarms share the task, so it takes over neither the priority nor the values of the task
    // that happens to start it.
    let task = Task.detached(priority: .high) { [clock] in
      guard (try? await clock.wait(until: first)) != nil else { return }
      self.ring(after: first)
    }
    state.sleep = (first, task)
  }

  /// Calls the functions that are due. Only the newest sleep counts.
  private func ring(after instant: Instant) {
    let due = state.withLock { state -> [@Sendable () -> Void] in
      guard state.sleep?.until == instant else { return [] }
      state.sleep = nil
      let now = clock.now
      var due: [@Sendable () -> Void] = []
      while let number = state.queue.take(dueAt: now) {
        guard let entry = state.entries[number], let wanted = entry.instant else { continue }
        if wanted > now {
          state.queue.set(number, at: wanted)
        } else {
          state.entries[number]?.instant = nil
          due.append(entry.ring)
        }
      }
      sleep(&state)
      return due
    }
    for ring in due { ring() }
  }
}
