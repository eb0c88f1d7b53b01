#if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
  import Foundation
  public import HoldfastPorts
  import Synchronization

  /// A monitor of the app's lifecycle, the device's lock, and Low Power Mode.
  ///
  /// The app creates it in the launch. A launch in the background is reported as `.background`, and
  /// is followed by `.foreground` once the user opens the app.
  ///
  /// The system may suspend the app as soon as the observers of its notification have returned. The
  /// monitor therefore requests background time inside the notification, and the time travels with the
  /// notice of `.background`.
  public final class ApplicationLifecycle: LifecycleMonitor {
    struct State {
      var isInBackground: Bool
      /// `nil` if the system does not report it.
      var isProtectedDataAvailable: Bool?
      var isLowPower: Bool?
      var listeners: [Int: AsyncStream<LifecycleNotice>.Continuation] = [:]
      var last = 0

      /// The events that describe the state. The conditions come first.
      var events: [LifecycleEvent] {
        [
          isProtectedDataAvailable.map { .protectedData(available: $0) },
          isLowPower.map { .lowPower($0) }, isInBackground ? .background : .foreground,
        ].compactMap(\.self)
      }
    }

    private let state: Mutex<State>
    private let time: (any BackgroundTime)?
    private let observers: Observers

    /// Creates a monitor of these observers, which the platform's initializer starts.
    init(_ state: State, time: (any BackgroundTime)?, center: NotificationCenter) {
      self.state = Mutex(state)
      self.time = time
      observers = Observers(center)
    }

    /// Returns the current state.
    public func present() -> [LifecycleEvent] { state.withLock(\.events) }

    /// Returns the current state and then each change.
    public func changes() -> AsyncStream<LifecycleNotice> {
      let (stream, continuation) = AsyncStream.makeStream(of: LifecycleNotice.self)
      let number = state.withLock { state in
        // Under the lock, so that no change comes before the state.
        for event in state.events { continuation.yield(LifecycleNotice(event)) }
        state.last += 1
        state.listeners[state.last] = continuation
        return state.last
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
      }
      return stream
    }

    /// Calls `report` for each notification of this name, on the thread that posts it.
    func observe(
      _ name: Notification.Name, in center: NotificationCenter? = nil,
      report: @escaping @Sendable (ApplicationLifecycle) -> Void
    ) {
      observers.add(name, in: center) { [weak self] in
        if let self { report(self) }
      }
    }

    func enterBackground() {
      guard state.withLock({ !$0.isInBackground }) else { return }
      let expiry = Expiry()
      let grant = time?.begin("Holdfast background") { expiry.expire() }
      // The grant belongs to the listeners.
      expiry.onExpiry { [weak grant] in grant?.giveBack() }
      send(LifecycleNotice(.background, grant: grant)) { $0.isInBackground = true }
    }

    /// Reports that the app is in the foreground, unless this is known: the system may report it
    /// twice, as the return to the foreground and as the activation.
    func enterForeground() {
      guard state.withLock(\.isInBackground) else { return }
      send(LifecycleNotice(.foreground)) { $0.isInBackground = false }
    }

    func setProtectedData(available: Bool) {
      guard state.withLock({ $0.isProtectedDataAvailable != available }) else { return }
      send(LifecycleNotice(.protectedData(available: available))) {
        $0.isProtectedDataAvailable = available
      }
    }

    func setLowPower(_ isLowPower: Bool) {
      guard state.withLock({ $0.isLowPower != isLowPower }) else { return }
      send(LifecycleNotice(.lowPower(isLowPower))) { $0.isLowPower = isLowPower }
    }

    func report(_ event: LifecycleEvent) { send(LifecycleNotice(event)) { _ in } }

    private func send(_ notice: LifecycleNotice, _ change: @Sendable (inout State) -> Void) {
      let listeners = state.withLock { state in
        change(&state)
        return Array(state.listeners.values)
      }
      for listener in listeners { listener.yield(notice) }
    }
  }

  /// The observers of notifications, which end with the monitor.
  private final class Observers: Sendable {
    private struct Token {
      // A token is only passed back to its center, whose methods may be called from any thread.
      nonisolated(unsafe) let token: any NSObjectProtocol
      let center: NotificationCenter
    }

    private let center: NotificationCenter
    private let tokens = Mutex<[Token]>([])

    init(_ center: NotificationCenter) { self.center = center }

    func add(
      _ name: Notification.Name, in other: NotificationCenter?, run: @escaping @Sendable () -> Void
    ) {
      let center = other ?? center
      let token = Token(
        token: center.addObserver(forName: name, object: nil, queue: nil) { _ in run() },
        center: center)
      tokens.withLock { $0.append(token) }
    }

    deinit {
      for token in tokens.withLock({ $0 }) { unsafe token.center.removeObserver(token.token) }
    }
  }
#endif
