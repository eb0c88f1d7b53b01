package import Holdfast
package import HoldfastCommandKit
package import HoldfastCore

extension CommandFailure {
  /// Creates the failure for a command whose feature could not be opened.
  package init(_ error: OpenError) {
    switch error {
    case .store(let failure): self.init(failure)
    case .configuration, .journal, .network, .alreadyOpen, .tooMany, .closed:
      self.init(.failed, error.description)
    }
  }

  /// Opens a feature with `work`, and converts its error to a command failure.
  package static func opening<Value>(
    _ work: () async throws(OpenError) -> Value
  ) async throws(CommandFailure) -> Value {
    do throws(OpenError) {
      return try await work()
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Creates the failure for a command whose link failed.
  package init(_ failure: LinkFailure) {
    let code = ExitCode(failure)
    let reason = failure.description.printable
    switch code {
    case .security: self = .security(failure, reason)
    case .unreachable:
      if case .http(let status, _, _) = failure, (500...599).contains(status) {
        self.init(.failed, reason, remedy: "try again later, or ask its operator")
        return
      }
      self.init(code, "the server cannot be reached: \(reason)", remedy: Self.remedy(failure))
    case .done, .failed, .usage, .signInNeeded, .forbidden:
      // A failure of this device must not be reported as a refusal by the server.
      if case .local = failure {
        self.init(code, "the connection cannot be made: \(reason)")
      } else if failure.isElsewhere {
        self.init(
          code, "the server does not answer at this URL: \(reason)",
          remedy: "check the scheme, the host and the path of the URL; redirects are not followed")
      } else {
        self.init(code, reason)
      }
    }
  }

  private static func remedy(_ failure: LinkFailure) -> String {
    switch failure {
    case .proxy:
      "check --proxy or, without it, the variables http_proxy, https_proxy and all_proxy"
    case .captivePortal:
      "the network shows a login page: open any page in a browser and log in; if none appears, "
        + "check the URL of the server"
    case .tls, .unreachable, .dns, .refused, .timeout, .reset, .ended, .closed, .http,
      .protocolError, .local:
      "check the URL of the server and the network"
    }
  }

  /// Returns the failure for a command whose connection could not be encrypted.
  private static func security(_ failure: LinkFailure, _ reason: String) -> CommandFailure {
    switch failure {
    case .tls(.notSpoken, _):
      CommandFailure(
        .security, reason,
        remedy: "use the port that does, or http:// (ws://) if the server is meant to have none")
    case .tls(.version, _), .tls(.handshake, _):
      CommandFailure(
        .security, reason,
        remedy: "check the URL of the server; TLS 1.2 or later is needed")
    case .tls, .unreachable, .dns, .refused, .timeout, .reset, .ended, .closed, .http,
      .protocolError, .proxy, .captivePortal, .local:
      CommandFailure(
        .security, "the server's certificate was not accepted: \(reason)",
        remedy: "check the URL of the server, or trust its authority with --ca FILE")
    }
  }

  /// Returns the failure for a command whose message, edit or deletion was not confirmed in time. It
  /// includes the last cause.
  package static func unstored(
    _ failure: LinkFailure, _ what: String = "message", within limit: Duration, remedy: String
  ) -> CommandFailure {
    let reason = failure.description.printable
    // With these statuses, the server is reachable but reports that it cannot store the message.
    guard case .http(let status, _, _) = failure, [500, 503, 507].contains(status) else {
      return CommandFailure(
        ExitCode(failure),
        "the server did not confirm the \(what) within \(limit.text): \(reason)", remedy: remedy)
    }
    return CommandFailure(
      .failed, "the server could not store the \(what) within \(limit.text): \(reason)",
      remedy: remedy)
  }

  /// Returns the failure for a command that a signal ended before it reached `goal`.
  package static func stopped(_ goal: String) -> CommandFailure {
    CommandFailure(.failed, "ended by a signal before \(goal)", remedy: "run it again")
  }

  /// Returns the failure for a run after which some items are in an unwanted state; `nil` if there
  /// are none.
  package static func left(
    _ count: Int, _ thing: String, _ state: String,
    remedy: String = "the output shows which, and why"
  ) -> CommandFailure? {
    guard count > 0 else { return nil }
    let cause = count == 1 ? "a \(thing) was \(state)" : "\(count) \(thing)s were \(state)"
    return CommandFailure(.failed, cause, remedy: remedy)
  }

  /// The failure for a command whose token the server rejected.
  package static let signIn = CommandFailure(
    .signInNeeded, "the server rejected the token, which may have expired",
    remedy: "sign in again, or provide a token that this server accepts; --token-command gets a "
      + "new one whenever one expires")
}
