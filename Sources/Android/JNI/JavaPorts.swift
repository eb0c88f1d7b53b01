public import HoldfastCore
public import HoldfastPorts
import Synchronization

/// A monitor of the device's connectivity, as the host reports it.
///
/// A stream has no element before the host's first report, which belongs into `started`.
public struct JavaReachability: ReachabilityMonitor {
  private let host: JavaHost

  /// Creates a monitor.
  public init(_ host: JavaHost) { self.host = host }

  /// Returns a stream of the current state and each change. It ends with the host.
  public func changes() -> AsyncStream<Reachability> {
    host.stream(\.paths) { state in state.reachability.map { [$0] } ?? [] }
  }
}

/// A monitor of the app's lifecycle and the device's conditions, as the host reports them.
public struct JavaLifecycle: LifecycleMonitor {
  private let host: JavaHost

  /// Creates a monitor.
  public init(_ host: JavaHost) { self.host = host }

  /// Returns the conditions and the place of the app that the host has reported.
  public func present() -> [LifecycleEvent] { host.state.withLock(\.present) }

  /// Returns the current state and then each event. The stream ends with the host.
  public func changes() -> AsyncStream<LifecycleNotice> {
    host.stream(\.listeners) { state in state.present.map { LifecycleNotice($0) } }
  }
}

/// A notifier whose notification the host shows.
public struct JavaNotifier: Notifier {
  private let host: JavaHost

  /// Creates a notifier.
  public init(_ host: JavaHost) { self.host = host }

  /// Shows or replaces the notification. Returns false if no user can see it, or if the host failed.
  public func show(_ notification: HostNotification) async -> Bool {
    do throws(JavaFailure) {
      return try host.call { thread, object throws(JavaFailure) in
        try thread.bool(
          host.methods.showNotification, of: object,
          [
            .object(thread.string(notification.title)), .object(thread.string(notification.body)),
          ])
      }
    } catch {
      host.note("The notification was not shown: \(error)")
      return false
    }
  }

  public func remove() async {
    do throws(JavaFailure) {
      try host.call { thread, object throws(JavaFailure) in
        try thread.call(host.methods.removeNotification, of: object)
      }
    } catch {
      host.note("The notification was not removed: \(error)")
    }
  }
}

/// A source of the wakes that the host reports, and whose tasks the host schedules.
public struct JavaWakes: WakeSource {
  private let host: JavaHost

  /// Creates a source. All sources of a host share one handler.
  public init(_ host: JavaHost) { self.host = host }

  /// Registers the handler. It runs in the thread of Java that reports the wake, so it must return
  /// quickly.
  public func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void) {
    let (early, _) = host.state.withLock { state in
      let old = (state.early, state.handler)
      if state.host != nil { (state.early, state.handler) = ([], handler) }
      return old
    }
    for (cause, wake) in early { handler(cause, wake) }
  }

  public func schedule(_ task: WakeTask) throws(WakeFailure) {
    // A task of a century is due never.
    let after = min(max(task.after, .zero), .seconds(3_155_760_000)) / .milliseconds(1)
    do throws(JavaFailure) {
      try host.call { thread, object throws(JavaFailure) in
        try thread.call(
          host.methods.scheduleTask, of: object,
          [
            .object(thread.string(task.identifier)), .long(Int64(after.rounded(.up))),
            .bool(task.isLong), .bool(task.needsNetwork),
          ])
      }
    } catch {
      throw refusal(of: task.identifier, error)
    }
  }

  public func cancel(_ identifier: String) {
    do throws(JavaFailure) {
      try host.call { thread, object throws(JavaFailure) in
        try thread.call(
          host.methods.cancelTask, of: object, [.object(thread.string(identifier))])
      }
    } catch {
      host.note("The task \(identifier) was not cancelled: \(error)")
    }
  }

  private func refusal(of identifier: String, _ failure: JavaFailure) -> WakeFailure {
    // The port's failures have no text.
    host.note("The task \(identifier) was not scheduled: \(failure)")
    guard case .thrown(let reason, _) = failure else {
      return .unavailable(identifier: identifier)
    }
    switch reason {
    case "NOT_PERMITTED": return .notPermitted(identifier: identifier)
    case "TOO_MANY": return .tooMany(identifier: identifier)
    case _: return .unavailable(identifier: identifier)
    }
  }
}

/// A store of secrets that the host keeps.
public struct JavaSecrets: SecretStore {
  private let host: JavaHost

  /// Creates a store.
  public init(_ host: JavaHost) { self.host = host }

  public func read(_ name: SecretName) throws(StoreFailure) -> Secret? {
    do throws(JavaFailure) {
      return try host.call { thread, object throws(JavaFailure) in
        try thread.object(
          host.methods.readSecret, of: object, [.object(thread.string(name.description))]
        ).map { Secret(thread.text($0)) }
      }
    } catch {
      throw StoreFailure(error, hiding: nil)
    }
  }

  public func write(
    _ secret: Secret?, _ name: SecretName, access: SecretAccess
  ) throws(StoreFailure) {
    do throws(JavaFailure) {
      try host.call { thread, object throws(JavaFailure) in
        try thread.call(
          host.methods.writeSecret, of: object,
          [
            .object(thread.string(name.description)), .object(thread.string(secret?.text)),
            .bool(access == .whileUnlocked),
          ])
      }
    } catch {
      throw StoreFailure(error, hiding: secret)
    }
  }
}

extension StoreFailure {
  /// Creates the failure that corresponds to an exception of the host.
  ///
  /// - Parameter secret: The secret that was passed to the host, which the text must not contain.
  fileprivate init(_ failure: JavaFailure, hiding secret: Secret?) {
    var text = failure.description
    if let secret, !secret.text.isEmpty {
      text = text.replacing(secret.text, with: "\(secret)")
    }
    guard case .thrown(let reason, _) = failure else {
      self = .other(detail: text)
      return
    }
    switch reason {
    case "LOCKED": self = .locked(detail: text)
    case "DENIED": self = .denied(detail: text)
    case "FULL": self = .full(detail: text)
    case "CORRUPT": self = .corrupt(detail: text)
    case _: self = .other(detail: text)
    }
  }
}
