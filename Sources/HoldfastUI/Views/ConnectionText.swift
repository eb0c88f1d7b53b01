import Foundation
import Holdfast

/// The state of a connection, in words.
struct ConnectionText: Sendable, Hashable {
  /// An action that the user can take.
  enum Action: Sendable, Hashable {
    case retry, signIn
  }

  /// The name of a symbol.
  let symbol: String
  let title: Phrase
  /// The reason why there is no connection; `nil` if it is unknown.
  let reason: Phrase?
  /// The action that can restore the connection; `nil` if none can.
  let action: Action?
  /// Whether there is something to show. It is false for a live connection, and for one that is
  /// switched off without a failure.
  let isShown: Bool

  init(_ state: ConnectionState) {
    (symbol, title) = Self.title(of: state.phase)
    reason = state.phase == .live ? nil : state.reason.map(Self.phrase)
    action = Self.action(state)
    isShown =
      switch state.phase {
      case .live: false
      case .off: state.reason != nil || state.failure != nil
      case .connecting, .reconnecting, .polling: true
      }
  }

  private static func title(of phase: ConnectionState.Phase) -> (symbol: String, Phrase) {
    switch phase {
    case .off: ("wifi.slash", Phrase("connection.off"))
    case .connecting: ("wifi", Phrase("connection.connecting"))
    case .live: ("wifi", Phrase("connection.live"))
    case .reconnecting: ("wifi.exclamationmark", Phrase("connection.reconnecting"))
    case .polling: ("clock", Phrase("connection.polling"))
    }
  }

  private static func phrase(_ reason: ConnectionState.Reason) -> Phrase {
    switch reason {
    case .offline: Phrase("connection.reason.offline")
    case .captivePortal: Phrase("connection.reason.captivePortal")
    case .background: Phrase("connection.reason.background")
    case .signIn: Phrase("connection.reason.signIn")
    case .server: Phrase("connection.reason.server")
    case .interrupted: Phrase("connection.reason.interrupted")
    case .security: Phrase("connection.reason.security")
    case .waiting: Phrase("connection.reason.waiting")
    case .closed: Phrase("connection.reason.closed")
    case .device: Phrase("connection.reason.device")
    }
  }

  private static func action(_ state: ConnectionState) -> Action? {
    if state.phase == .live { return nil }
    if state.needsSignIn { return .signIn }
    switch state.reason {
    // The network and the foreground start an attempt by themselves.
    case .offline, .background: return state.phase == .off ? .retry : nil
    case .captivePortal: return .retry
    case .signIn: return .signIn
    case .server, .interrupted, .security, .waiting, .closed, .device, nil:
      let isWaiting = state.retryAt != nil && state.phase != .polling
      return isWaiting || state.phase == .off && (state.reason ?? state.failure.reason) != nil
        ? .retry : nil
    }
  }

  /// Returns when the next attempt begins, in words; `nil` if none is scheduled or it is due.
  static func countdown(to date: Date?, at now: Date) -> Phrase? {
    guard let date, let left = Countdown.secondsLeft(to: date, at: now) else { return nil }
    if left < 60 { return Phrase("connection.retry.seconds", left) }
    let minutes = (left + 59) / 60
    return minutes < 60
      ? Phrase("connection.retry.minutes", minutes)
      : Phrase("connection.retry.hours", (minutes + 59) / 60)
  }
}

extension LinkFailure? {
  fileprivate var reason: ConnectionState.Reason? { map { ConnectionState.Reason($0) } }
}

/// The times at which a countdown shows another number.
struct Countdown: Sendable, Hashable {
  /// The end of the countdown.
  let end: Date

  /// Returns the seconds that are left, rounded up; `nil` at the end and after it.
  static func secondsLeft(to end: Date, at now: Date) -> Int? {
    let left = end.timeIntervalSince(now)
    guard left > Self.tolerance else { return nil }
    // A wrong clock can lead to any number.
    return Int(min((left - tolerance).rounded(.up), 1_000_000_000))
  }

  /// Differences below this are errors of rounding, in seconds.
  private static let tolerance: TimeInterval = 0.001

  /// Returns the first time after `date` at which another number is shown; `nil` at the end.
  ///
  /// - Parameter isCoarse: Whether only minutes are shown, to save energy.
  func next(after date: Date, isCoarse: Bool) -> Date? {
    guard let left = Self.secondsLeft(to: end, at: date) else { return nil }
    let step = isCoarse || left > 60 ? 60 : 1
    // The number changes when less than a whole number of steps is left.
    return end - TimeInterval((left - 1) / step * step)
  }
}
