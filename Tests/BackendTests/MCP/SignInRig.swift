import Foundation
import HoldfastAssistants
import HoldfastBackend
import HoldfastRelayData
import HoldfastTestKit
import Synchronization

/// A backend at which assistants sign in with OAuth, and a phone that answers every question.
struct SignInRig {
  let rig: BackendRig
  /// The address that clients are given, without `/mcp`.
  let url: String
  /// The path of a named pipe. Each of its lines is a pairing code of the phone that nobody used.
  let codes: String
  /// The pairing code that the phone showed first. It is also the first line of the pipe.
  let first: ConnectionCode
  /// All pairing codes that the phone has shown.
  let shown: Shown

  /// A thread-safe list of pairing codes.
  final class Shown: Sendable {
    private let codes = Mutex<[ConnectionCode]>([])

    func append(_ code: ConnectionCode) { codes.withLock { $0.append(code) } }

    var all: [ConnectionCode] { codes.withLock(\.self) }
  }

  struct NoPipe: Error {}

  /// Runs `body` with a backend and a phone.
  static func run(_ body: (SignInRig) async throws -> Void) async throws {
    let scratch = try Scratch()
    let pipe = scratch("codes")
    guard unsafe mkfifo(pipe, 0o600) == 0 else { throw NoPipe() }
    // Opened for reading as well, so that neither end waits for the other.
    let codes = try FileHandle(forUpdating: URL(filePath: pipe))
    // The address of a backend with OAuth must be known before it starts.
    let port = TestPort.random()
    let url = "http://127.0.0.1:\(port)"
    try await BackendRig.run {
      $0.port = port
      $0.publicURL = PublicURL(url)
    } _: { rig in
      let phone = try await ScriptedPhone.connect(to: rig, device: ScriptedPhone.device)
      let shown = Shown()
      try show(phone.code, in: codes, shown)
      let answering = Task {
        while true { try await next(phone, codes, shown) }
      }
      defer { answering.cancel() }
      try await body(
        SignInRig(rig: rig, url: url, codes: pipe, first: phone.code, shown: shown))
      // The phone waits for its next message until the backend ends.
    }
  }

  /// Handles the next message to the phone.
  private static func next(
    _ phone: ScriptedPhone, _ codes: FileHandle, _ shown: Shown
  ) async throws {
    switch try await ScriptedPhone.message(on: phone.client) {
    case .connectionCode(let code): try show(code, in: codes, shown)
    case .question(let id, let question):
      try await phone.say(ScriptedPhone.answer(id, question))
    case .cancel, .unknown: break
    }
  }

  /// Shows a code. The backend repeats the present one when it reports a new assistant.
  private static func show(
    _ code: ConnectionCode, in codes: FileHandle, _ shown: Shown
  ) throws {
    guard code.code != shown.all.last?.code else { return }
    shown.append(code)
    try codes.write(contentsOf: Data("\(code.word) \(code.code)\n".utf8))
  }

  /// Returns the names of the assistants that the phone would list.
  func assistants() async throws -> [String] {
    try await manage("{}").assistants.map(\.name)
  }

  /// Ends all assistants of the phone, as its user can.
  func endAll() async throws {
    _ = try await manage(#"{"end":"all"}"#)
  }

  private struct Listed: Decodable {
    struct One: Decodable { var name: String }
    var assistants: [One]
  }

  private func manage(_ body: String) async throws -> Listed {
    let client = try rig.client()
    let answer = try await client.ask(
      "POST", "/relay/assistants", token: first.resumeToken, body: body)
    return try JSONDecoder().decode(Listed.self, from: Data(answer.body.utf8))
  }

  /// Returns the log lines that contain a secret of the pairing.
  func leaks() -> [String] {
    let secrets = shown.all.flatMap { [$0.word, $0.code] }
    return rig.lines.all.filter { line in
      // The digits of a time, a duration or a number of a connection can be those of a code
      // by chance.
      let rest = line.replacing(#/"at":"[^"]*"|"(connection|ms)":[0-9]+/#, with: "")
      return secrets.contains { rest.contains($0) }
    }
  }
}
