public import Foundation
public import Holdfast
import HoldfastCore

/// The state of a connection, in the form in which screens show it.
public struct ConnectionState: Sendable, Hashable {
  /// The phase of the connection.
  public var phase: Phase
  /// The time of the next retry, or `nil` if none is scheduled.
  public var retryAt: Date?
  /// The reason why there is no connection; `nil` if there is one, or if it was not requested.
  public var reason: Reason?
  /// The number of the current or next attempt, counted from 1; 0 if there is none.
  public var attempt: Int
  /// A Boolean value that indicates whether the user has to sign in again.
  public var needsSignIn: Bool
  /// The failure of the last attempt, also while further attempts are made; `nil` if there is none.
  ///
  /// In the phase `off`, no retry helps: the failure is a 403 response, for example, or a
  /// certificate that is not trusted. The model's `reconnect()` tries again.
  public var failure: LinkFailure?
  /// A text to show: the state and its reason, such as
  /// `reconnecting, attempt 3 of 10: the connection was reset`.
  public var text: String
  /// A Boolean value that indicates whether all attempts failed and no more are made.
  ///
  /// The return to the foreground starts such a connection again.
  var isExhausted = false

  /// A phase of a connection.
  public enum Phase: Sendable, Hashable {
    /// The connection was not requested, or has ended.
    case off
    /// The first connection attempts are in progress.
    case connecting
    /// The connection is established, and data arrives as soon as the server sends it.
    case live
    /// The first attempt failed or the connection was lost, and further attempts are made.
    case reconnecting
    /// Data is fetched at intervals.
    case polling
  }

  /// The reason why there is no connection, in the form in which an app chooses what to show.
  ///
  /// `failure` and `text` have the details.
  public enum Reason: Sendable, Hashable {
    /// The device has no network, or the host cannot be found in it.
    case offline
    /// The network shows a login page in place of the server.
    case captivePortal
    /// The app is in the background.
    case background
    /// The user has to sign in again.
    case signIn
    /// The server refuses service, is not available, or has ended the connection.
    case server
    /// The connection was interrupted, or the server did not answer in time.
    case interrupted
    /// The connection is not secure, for example because a certificate is not trusted.
    case security
    /// The next attempt waits for a stable network or for a rate limit.
    case waiting
    /// This side has ended the connection, for example because it was idle.
    case closed
    /// An error on this device.
    case device
  }

  /// Creates a state. By default, it describes a connection that has not been opened.
  public init(
    phase: Phase = .off, retryAt: Date? = nil, reason: Reason? = nil, attempt: Int = 0,
    needsSignIn: Bool = false, failure: LinkFailure? = nil, text: String = "disconnected"
  ) {
    (self.phase, self.retryAt, self.needsSignIn) = (phase, retryAt, needsSignIn)
    (self.reason, self.attempt) = (reason, attempt)
    (self.failure, self.text) = (failure, text)
  }

  /// Creates a state from the parts of a feature's status. Only a final status can be exhausted.
  init(
    _ phase: Phase, retryAt: Date?, _ reason: LinkStatus.Reason?, attempt: Int,
    _ failure: LinkFailure?, text: String, isFinal: Bool
  ) {
    self.init(
      phase: phase, retryAt: retryAt, reason: reason.map { Reason($0) }, attempt: attempt,
      needsSignIn: reason == .signIn, failure: failure, text: text)
    if case .exhausted = reason { isExhausted = isFinal }
  }
}

extension ConnectionState {
  /// The state of a connection over which data arrives, for example in a preview.
  public static let live = ConnectionState(phase: .live, text: "connected")
}

extension ConnectionState.Reason {
  init(_ reason: LinkStatus.Reason) {
    self =
      switch reason {
      case .blocked(.unreachable): .offline
      case .blocked(.captivePortal): .captivePortal
      case .blocked(.background), .ended(.background): .background
      case .failure(let failure), .exhausted(let failure): Self(failure)
      case .signIn: .signIn
      case .ended(.timeout), .ended(.silent): .interrupted
      case .ended: .closed
      case .debouncing, .limited: .waiting
      }
  }

  init(_ failure: LinkFailure) {
    self =
      switch failure {
      case .unreachable, .dns: .offline
      case .captivePortal: .captivePortal
      case .http(status: 401, retryAfter: _, detail: _): .signIn
      case .refused, .closed, .http, .protocolError: .server
      case .timeout, .reset, .ended, .proxy: .interrupted
      case .tls: .security
      case .local: .device
      }
  }
}
