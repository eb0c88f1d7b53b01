import ChildProcesses
import LinkCore
import LinkRuntime
import LinkServerCore
import LinkStorage
import LinkWire
import Synchronization

/// A program that answers prompts: each prompt is one run of a shell command.
///
/// The prompt's text is its standard input. Its standard output, without a final line end, is the
/// response. It inherits the environment of this process and receives these variables, which are
/// empty if they have no value:
///
/// - `HOLDFAST_CONVERSATION`: The id of the conversation.
/// - `HOLDFAST_CONVERSATION_IS_NEW`: `1` if the conversation begins with this prompt, otherwise
///   `0`.
/// - `HOLDFAST_KEY`: The idempotency key of the prompt; not the key of the server.
/// - `HOLDFAST_PROVIDER`, `HOLDFAST_WORKING_DIRECTORY`, `HOLDFAST_SYSTEM_PROMPT`: The values that
///   the client sent. They are not checked, and the working directory is not changed.
///
/// An exit status other than 0, or an end by a signal, is a failure, reported with the last 2,000
/// bytes of standard error.
final class SessionHandlers: Sendable {

  private let command: String
  private let runs = Mutex<[SessionPromptID: ChildRun]>([:])

  init(command: String) { self.command = command }

  deinit {
    for run in runs.withLock({ $0.values }) { run.kill() }
  }

  /// Starts the program; `report` receives its output in pieces and, once, its end.
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

  /// Kills the program of a prompt with its whole process group.
  func cancel(_ id: SessionPromptID) {
    runs.withLock { $0[id] }?.kill()
  }

  private static func variables(of prompt: SessionPrompt) -> [String] {
    [
      ("CONVERSATION", prompt.conversation),
      ("CONVERSATION_IS_NEW", prompt.isNew ? "1" : "0"),
      ("KEY", prompt.idempotencyKey ?? ""),
      ("PROVIDER", prompt.provider ?? ""),
      ("WORKING_DIRECTORY", prompt.workingDirectory ?? ""),
      ("SYSTEM_PROMPT", prompt.systemPrompt ?? ""),
    ].map { "HOLDFAST_\($0)=\($1)" }
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

/// A text decoded from bytes that arrive in pieces; invalid UTF-8 is replaced by U+FFFD.
struct GatheredText {
  /// The bound above which bytes are ignored: a response of that size has failed.
  private static let maxBytes = 4 << 20

  private var text = ""
  private var rest: [UInt8] = []

  /// Decodes a piece; returns the text that is now complete.
  mutating func take(_ bytes: [UInt8]) -> String {
    guard text.utf8.count <= Self.maxBytes else { return "" }
    rest += bytes
    let whole = rest.count - Self.unfinished(rest)
    let piece = String(decoding: rest[..<whole], as: UTF8.self)
    rest.removeFirst(whole)
    text += piece
    return piece
  }

  /// Returns the whole text, including a trailing incomplete character as U+FFFD.
  mutating func end() -> String {
    text += String(decoding: rest, as: UTF8.self)
    rest = []
    return text
  }

  /// Returns the number of bytes at the end that begin an incomplete character (RFC 3629 section
  /// 3).
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
