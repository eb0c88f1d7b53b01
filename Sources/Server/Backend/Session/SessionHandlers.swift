import HoldfastChildProcesses
import HoldfastCore
import HoldfastPorts
import HoldfastSessionData
import HoldfastSessionServer
import Synchronization

/// A program that answers prompts. For each prompt, a shell command is run.
///
/// The text of the prompt is the standard input of the command. The standard output, without a
/// final line ending, is the response. The command inherits the environment of this process and
/// receives the following additional variables, which are empty if they have no value:
///
/// - `HOLDFAST_USER`: The user of the client's token; empty for a client with the server's key.
/// - `HOLDFAST_CONVERSATION`: The ID of the conversation. For a user, it is a UUID that the server
///   computes from the user and the client's ID, so that it never names the conversation of another
///   user.
/// - `HOLDFAST_CONVERSATION_IS_NEW`: `1` if the conversation begins with this prompt, otherwise
///   `0`.
/// - `HOLDFAST_KEY`: The idempotency key of the prompt, which is not the key of the server.
/// - `HOLDFAST_PROVIDER`, `HOLDFAST_WORKING_DIRECTORY`, `HOLDFAST_SYSTEM_PROMPT`: The values that
///   the client sent. They are not checked, and the working directory is not changed.
///
/// A nonzero exit status or an end by a signal is a failure. The failure is reported with the last
/// 2,000 bytes of standard error.
final class SessionHandlers: Sendable {

  private let command: String
  private let runs = Mutex<[SessionPromptID: ChildRun]>([:])

  init(command: String) { self.command = command }

  deinit {
    for run in runs.withLock({ $0.values }) { run.kill() }
  }

  /// Starts the program. `report` receives the output in pieces and then, once, the end of the
  /// program.
  func start(
    _ id: SessionPromptID, _ prompt: SessionPrompt,
    report: @escaping @Sendable (SessionServer.Input) -> Void
  ) {
    var launch = ChildLaunch("/bin/sh", ["sh", "-c", command])
    launch.additions = Self.variables(of: prompt)
    let text = Mutex(GatheredText())
    do throws(ChildFailure) {
      let run = try ChildRun(launch, input: Array(prompt.text.utf8)) { bytes in
        let piece = text.withLock { $0.take(bytes) }
        if !piece.isEmpty { report(.produced(id, piece)) }
      } ended: { [weak self] ending, errors in
        let whole = text.withLock { $0.end() }
        self?.runs.withLock { $0[id] = nil }
        report(.ended(id, Self.result(ending, whole, errors), wall: BootClock().wall))
      }
      runs.withLock { $0[id] = run }
    } catch {
      report(
        .ended(
          id, .failure(error: "the handler cannot be started: \(error.reason)"),
          wall: BootClock().wall))
    }
  }

  /// Kills the program of a prompt and its whole process group.
  func cancel(_ id: SessionPromptID) {
    runs.withLock { $0[id] }?.kill()
  }

  private static func variables(of prompt: SessionPrompt) -> [String] {
    let (user, id) = SessionNames.split(prompt.conversation)
    return [
      ("USER", user ?? ""),
      ("CONVERSATION", user == nil ? id : uuid(of: prompt.conversation)),
      ("CONVERSATION_IS_NEW", prompt.isNew ? "1" : "0"),
      ("KEY", prompt.idempotencyKey ?? ""),
      ("PROVIDER", prompt.provider ?? ""),
      ("WORKING_DIRECTORY", prompt.workingDirectory ?? ""),
      ("SYSTEM_PROMPT", prompt.systemPrompt ?? ""),
    ].map { "HOLDFAST_\($0)=\($1)" }
  }

  /// Returns a UUID of version 8 (RFC 9562 section 5.8) for a name.
  private static func uuid(of name: String) -> String {
    var bytes = RelaySecrets.digest(Array(name.utf8))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return UUID128(bytes: bytes.prefix(16)).description
  }

  private static func result(
    _ ending: ChildProcess.Ending, _ text: String, _ errors: [UInt8]
  ) -> SessionResponse.Result {
    let detail = SessionText.withoutLineEnd(String(decoding: errors, as: UTF8.self))
    let tail = detail.isEmpty ? "" : ": \(detail)"
    switch ending {
    case .exited(0): return .success(text: SessionText.withoutLineEnd(text))
    case .exited(let status):
      return .failure(error: "the handler exited with status \(status)\(tail)")
    case .signalled(let number):
      return .failure(error: "the handler was ended by signal \(number)\(tail)")
    }
  }
}

/// A text that is decoded from bytes that arrive in pieces. Invalid UTF-8 is replaced with U+FFFD.
struct GatheredText {
  /// The size beyond which bytes are ignored. A response of this size has already failed.
  private static let maxBytes = 4 << 20

  private var text = ""
  private var rest: [UInt8] = []

  /// Decodes a piece. Returns the text that can now be decoded completely.
  mutating func take(_ bytes: [UInt8]) -> String {
    guard text.utf8.count <= Self.maxBytes else { return "" }
    rest += bytes
    let whole = rest.count - Self.unfinished(rest)
    let piece = String(decoding: rest[..<whole], as: UTF8.self)
    rest.removeFirst(whole)
    text += piece
    return piece
  }

  /// Returns the whole text. An incomplete character at the end is replaced with U+FFFD.
  mutating func end() -> String {
    text += String(decoding: rest, as: UTF8.self)
    rest = []
    return text
  }

  /// Returns the number of bytes at the end that are the beginning of an incomplete character (RFC
  /// 3629 section 3).
  private static func unfinished(_ bytes: [UInt8]) -> Int {
    for count in 1...3 where count <= bytes.count {
      let byte = bytes[bytes.count - count]
      guard byte & 0xC0 != 0x80 else { continue }
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return length > count ? count : 0
    }
    return 0
  }
}
