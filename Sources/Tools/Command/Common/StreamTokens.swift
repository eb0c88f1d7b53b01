import CommandKit
import Dispatch
import Holdfast
import LinkCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a text must be to travel as a token.
enum StreamToken {
  /// More than any token has, and less than servers take in a header.
  private static let maxBytes = 8_192

  /// Without white space around it; `nil` for what no header can carry.
  static func clean(_ text: String) -> String? {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1, let word = words.first, word.utf8.count <= maxBytes,
      word.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return String(word)
  }

  /// The token in a file, or on standard input for `-`.
  static func read(_ path: String, within limit: Duration) throws(CommandFailure) -> String {
    let text = String(decoding: try TextFile.read(path, within: limit), as: UTF8.self)
    guard let token = clean(text) else { throw unfit(path == "-" ? "standard input" : path) }
    return token
  }

  static func unfit(_ place: String) -> CommandFailure {
    CommandFailure(
      .usage, "\(place) holds no token",
      remedy: "one word of at most \(maxBytes) printable ASCII characters is wanted")
  }
}

/// A file that somebody else keeps fresh.
actor FileTokens: TokenSource {
  private let path: String
  private let limit: Duration
  private let note: @Sendable (String) -> Void
  /// What was read to begin with: a pipe says it only once.
  private var first: String?

  init(path: String, first: String, limit: Duration, note: @escaping @Sendable (String) -> Void) {
    self.path = path
    self.first = first
    self.limit = limit
    self.note = note
  }

  func token() async throws(TokenFailure) -> String {
    if let token = first.take() { return token }
    switch await read() {
    case .success(let token): return token
    case .failure(let failure):
      note(failure.line)
      throw .unavailable
    }
  }

  private func read() async -> Result<String, CommandFailure> {
    await withCheckedContinuation { continuation in
      // A queue of its own, so that a slow writer holds up nothing else.
      DispatchQueue(label: "holdfast.command.token").async { [path, limit] in
        continuation.resume(
          returning: Result { () throws(CommandFailure) in
            try StreamToken.read(path, within: limit)
          })
      }
    }
  }
}

/// A command that prints a new token each time.
actor ShellTokens: TokenSource {
  private let command: String
  private let limit: Duration
  private let note: @Sendable (String) -> Void
  /// Whether the command said last that only the user can help.
  private(set) var asksForSignIn = false

  /// The exit status that says so.
  private static let signIn: Int32 = 3

  /// - Parameter limit: it is killed when it takes longer.
  init(command: String, limit: Duration, note: @escaping @Sendable (String) -> Void) {
    self.command = command
    self.limit = limit
    self.note = note
  }

  func token() async throws(TokenFailure) -> String {
    asksForSignIn = false
    switch await run() {
    case .exited(0, let output):
      if let token = StreamToken.clean(String(decoding: output, as: UTF8.self)) { return token }
      note("the token command printed no token")
    case .exited(Self.signIn, _):
      asksForSignIn = true
      throw .rejected
    case .exited(let status, _): note("the token command failed with status \(status)")
    case .killed(let signal): note("the token command was ended by signal \(signal)")
    case .late(let after):
      let tenths = Duration.milliseconds(Int64(after / .milliseconds(100)) * 100)
      note("the token command had not ended after \(tenths.text), and was killed")
    case .talkative:
      note("the token command printed more than \(ShellRun.maxBytes) bytes, and was killed")
    case .failed(let code):
      note("the token command cannot be started: \(Console.reason(of: code))")
    }
    throw .unavailable
  }

  private func run() async -> ShellRun.Ending {
    let run = ShellRun()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // A queue of its own, so that a slow command holds up nothing else.
        DispatchQueue(label: "holdfast.command.token").async { [command, limit] in
          continuation.resume(returning: run.ending(of: command, within: limit))
        }
      }
    } onCancel: {
      run.cancel()
    }
  }
}
