import Dispatch
import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts
import Synchronization

extension Wake {
  /// Creates a grant for an event that the system reports to the app's delegate with a completion
  /// handler. Background time reports the expiry of the event's time.
  ///
  /// - Parameters:
  ///   - purpose: The purpose, which debuggers show.
  ///   - budget: The time that the system grants for the event.
  ///   - time: The background time. The grant expires without it only at the end of the budget.
  ///   - done: A function that is called exactly once, on the main actor, and at once if the grant
  ///     is given back there. The background time ends after it.
  convenience init(
    _ purpose: String, budget: Duration, time: any BackgroundTime,
    done: @escaping @MainActor (WakeResult) -> Void
  ) {
    let expiry = Expiry()
    let handler = EventHandler(done, time.begin(purpose) { expiry.expire() })
    self.init(budget: budget) { handler.call($0) }
    expiry.onExpiry { [weak self] in
      self?.expire()
      self?.giveBack(.later)
      handler.callIfWaiting()
    }
  }

  /// Returns wakes for several features. The time is given back when all of them have given theirs
  /// back, as done if all of them are done.
  func divided(among count: Int) -> [Wake] {
    let whole = DividedWake(self, count)
    let parts = (0..<count).map { _ in Wake(budget: budget) { whole.giveBackPart($0) } }
    // The parts keep the whole, so the whole must not keep them.
    let released = parts.map(ReleasedWake.init)
    onExpiry {
      for part in released {
        part.wake?.expire()
        part.wake?.giveBack(.later)
      }
    }
    return parts
  }
}

/// A system's completion handler, and the background time that lasts until it was called.
private final class EventHandler: Sendable {
  private struct State {
    var done: (@MainActor (WakeResult) -> Void)?
    /// The result, once there is one.
    var result: WakeResult?
  }

  private let state: Mutex<State>
  private let grant: TimeGrant?

  init(_ done: @escaping @MainActor (WakeResult) -> Void, _ grant: TimeGrant?) {
    state = Mutex(State(done: done))
    self.grant = grant
  }

  /// Calls the handler: at once on the main actor, or else as soon as that is free.
  func call(_ result: WakeResult) {
    state.withLock { $0.result = result }
    guard !MainQueue.isCurrent else { return callIfWaiting() }
    Task { @MainActor in run() }
  }

  /// Calls the handler at once if it waits for the main actor and this is the main actor.
  func callIfWaiting() {
    if MainQueue.isCurrent { MainActor.assumeIsolated { run() } }
  }

  @MainActor private func run() {
    let (done, result) = state.withLock { state in
      state.result == nil ? (nil, nil) : (state.done.take(), state.result)
    }
    guard let done, let result else { return }
    done(result)
    grant?.giveBack()
  }
}

/// The queue of the main actor.
private enum MainQueue {
  private static let key = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the caller runs on it. On Linux, the queue has no thread of its own.
  static var isCurrent: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: key) == true
  }
}

/// The time that several features share.
private final class DividedWake: Sendable {
  private let wake: Wake
  private let state: Mutex<(left: Int, result: WakeResult)>

  init(_ wake: Wake, _ count: Int) {
    self.wake = wake
    state = Mutex((left: count, result: .done))
  }

  func giveBackPart(_ result: WakeResult) {
    let end = state.withLock { state -> WakeResult? in
      state.left -= 1
      if result != .done { state.result = result }
      return state.left == 0 ? state.result : nil
    }
    if let end { wake.giveBack(end) }
  }
}

/// A wake that is kept elsewhere.
private struct ReleasedWake: Sendable {
  weak let wake: Wake?

  init(_ wake: Wake) { self.wake = wake }
}
