public import Foundation
public import Holdfast

/// What a screen shows of a connection.
public struct ConnectionState: Sendable, Hashable {
  /// Where it stands.
  public var phase: Phase
  /// When the next try is made; `nil` when none waits for a time.
  public var retryAt: Date?
  /// Whether the user has to sign in again.
  public var needsSignIn: Bool

  /// Where a connection stands.
  public enum Phase: Sendable, Hashable {
    /// Not wanted, or ended.
    case off
    /// First tries.
    case connecting
    /// Data arrives as it happens.
    case live
    /// Lost, and tried again.
    case reconnecting
    /// Data is asked for from time to time.
    case polling
  }

  /// A state; by default that of a connection that was not opened yet.
  public init(phase: Phase = .off, retryAt: Date? = nil, needsSignIn: Bool = false) {
    (self.phase, self.retryAt, self.needsSignIn) = (phase, retryAt, needsSignIn)
  }
}

/// Turns the instants of a clock into dates that can be shown.
struct Dates {
  let clock: any LinkClock

  var now: Date { Date(clock.wall) }

  func date(of instant: Instant) -> Date {
    Date(clock.wall.advanced(by: clock.now.duration(to: instant)))
  }
}

extension Date {
  /// The date of a time stamp.
  public init(_ timestamp: Timestamp) {
    self.init(timeIntervalSince1970: Double(timestamp.nanoseconds) / 1e9)
  }
}
