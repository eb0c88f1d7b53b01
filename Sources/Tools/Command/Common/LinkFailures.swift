import CommandKit
import LinkCore

extension CommandFailure {
  /// The failure of a command whose link failed.
  init(_ failure: LinkFailure) {
    let code = ExitCode(failure)
    let reason = LinkReason.text(failure).printable
    switch code {
    case .security:
      self.init(
        code, "the server's certificate was not accepted (\(reason))",
        remedy: "check the URL of the server, or trust its authority with --ca FILE")
    case .unreachable:
      self.init(
        code, "the server cannot be reached (\(reason))",
        remedy: "check the URL of the server and the network")
    case .done, .failed, .usage, .signInNeeded, .forbidden:
      self.init(code, "the server refused: \(reason)")
    }
  }

  /// A server that rejected the token.
  static let signIn = CommandFailure(
    .signInNeeded, "the server rejected the token",
    remedy: "sign in again, or provide a token that this server accepts")
}
