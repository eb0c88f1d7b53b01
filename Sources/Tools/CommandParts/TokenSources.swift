import Dispatch
package import Holdfast
package import HoldfastCommandKit
import HoldfastCore
import HoldfastOwnerFiles

/// The rules for the text of tokens.
package enum TokenText {
  /// The maximum length of a token, in bytes. Known tokens are shorter, and servers accept longer
  /// header fields.
  private static let maxBytes = 8_192

  /// Returns the token without surrounding white space; `nil` if it cannot be used in a header
  /// field.
  package static func clean(_ text: String) -> String? {
    let parts = text.split(whereSeparator: \.isWhitespace)
    guard parts.count == 1, let token = parts.first, token.utf8.count <= maxBytes,
      token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return String(token)
  }

  /// Reads the token from a file, or from standard input for `-`.
  package static func read(_ path: String, within limit: Duration) throws(CommandFailure) -> String
  {
    let text = String(decoding: try TextFile.read(path, within: limit), as: UTF8.self)
    guard let token = clean(text) else { throw invalid(path == "-" ? "standard input" : path) }
    return token
  }

  package static func invalid(_ source: String) -> CommandFailure {
    CommandFailure(
      .usage, "\(source) is not a valid token",
      remedy: "a token is one word of at most \(maxBytes) printable ASCII characters")
  }
}

/// The tokens that the options of a command select.
package enum CommandTokens: Sendable {
  /// A single token that cannot be renewed.
  case fixed(String)
  case file(FileTokens)
  case shell(ShellTokens)

  /// The tokens as a source for a link.
  package var source: TokenSource {
    switch self {
    case .fixed(let token): .fixed(token)
    case .file(let tokens): TokenSource { try await tokens.token() }
    case .shell(let tokens): TokenSource { try await tokens.token() }
    }
  }
}

/// A reader of tokens from a file that another program keeps up to date.
package actor FileTokens {
  private let path: String
  private let limit: Duration
  private let note: @Sendable (String) -> Void
  /// The token that was read at the start. It is stored because a pipe provides it only once.
  private var first: String?

  init(path: String, first: String, limit: Duration, note: @escaping @Sendable (String) -> Void) {
    self.path = path
    self.first = first
    self.limit = limit
    self.note = note
  }

  /// Returns the token that is in the file now.
  func token() async throws(TokenFailure) -> String {
    if let token = first.take() { return token }
    let result = await blocking { [path, limit] in
      Result { () throws(CommandFailure) in try TokenText.read(path, within: limit) }
    }
    switch result {
    case .success(let token): return token
    case .failure(let failure):
      note(failure.line)
      throw .unavailable(detail: failure.line)
    }
  }
}

/// A runner of a shell command that prints each new token.
package actor ShellTokens {
  private let command: String
  private let limit: Duration
  private let note: @Sendable (String) -> Void
  /// Whether the last run ended with the exit status that requests a sign-in.
  private(set) var asksForSignIn = false
  /// The reason why the last run provided no token; `nil` if it provided a token.
  private(set) var fault: String?
  /// The start of the current run; `nil` if no run is in progress.
  private var start: ContinuousClock.Instant?

  /// The exit status that requests a sign-in.
  private static let signIn: Int32 = 3

  /// - Parameter limit: The time limit of a run, after which the command is killed.
  init(command: String, limit: Duration, note: @escaping @Sendable (String) -> Void) {
    self.command = command
    self.limit = limit
    self.note = note
  }

  /// Runs the command, and returns the token that it prints.
  func token() async throws(TokenFailure) -> String {
    (asksForSignIn, fault) = (false, nil)
    let run = ShellRun()
    let begin = ContinuousClock.now
    start = begin
    let ending = await withTaskCancellationHandler {
      await blocking { [command, limit] in run.ending(of: command, within: limit) }
    } onCancel: {
      run.cancel()
    }
    start = nil
    switch ending {
    case .exited(0, let output):
      if let token = TokenText.clean(String(decoding: output, as: UTF8.self)) { return token }
      fault = "did not print a token"
    case .exited(Self.signIn, _):
      asksForSignIn = true
      throw .rejected
    case .exited(let status, _): fault = "failed with status \(status)"
    case .killed(let signal): fault = "was ended by signal \(signal)"
    case .late(let after): fault = Self.late(after: after)
    case .cancelled:
      // The link cancels the run at the same limit, which it measures from a little earlier. A much
      // earlier cancellation means that the program is ending.
      let time = begin.duration(to: .now)
      guard time > limit - min(limit / 10, .seconds(1)) else {
        start = begin
        throw .unavailable(detail: "the program is ending")
      }
      fault = Self.late(after: max(time, limit))
    case .tooMuchOutput: fault = "printed more than \(ShellRun.maxBytes) bytes, and was killed"
    case .failed(let code): fault = "cannot be started: \(SystemCall.reason(of: code))"
    }
    let detail = "the token command \(fault ?? "failed")"
    note(detail)
    throw .unavailable(detail: detail)
  }

  private static func late(after time: Duration) -> String {
    "did not end within \(tenths(time)), and was killed"
  }

  private static func tenths(_ time: Duration) -> String {
    Duration.milliseconds(Int64(time / .milliseconds(100)) * 100).text
  }

  fileprivate func reported(_ failure: CommandFailure) -> CommandFailure {
    if failure == .signIn, asksForSignIn {
      return CommandFailure(
        .signInNeeded, "the token command reports that the user must sign in (status 3)",
        remedy: "sign in again")
    }
    let unended = start.map { "had not ended after \(Self.tenths($0.duration(to: .now)))" }
    guard let fault = fault ?? unended, failure.code == .failed || failure.code == .unreachable
    else { return failure }
    return CommandFailure(
      .failed, "there is no token: the token command \(fault)",
      remedy: "run the command of --token-command by itself to see why")
  }
}

/// Runs `work`, which may block, on a separate queue.
private func blocking<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    DispatchQueue(label: "holdfast.command.token").async { continuation.resume(returning: work()) }
  }
}

extension CommandFailure {
  /// Returns the failure to report instead of this failure of a link.
  ///
  /// A token command that requests a sign-in is not reported as a rejected token, and a token
  /// command that fails is not reported as a refusal by the server.
  package func explained(by tokens: CommandTokens?) async -> CommandFailure {
    guard case .shell(let command)? = tokens else { return self }
    return await command.reported(self)
  }
}
