import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// A client of the official Python SDK, run as a separate process that the test controls.
actor Assistant {
  /// The two major versions of the SDK, each in an environment created by `scripts/peers`.
  enum SDK: Int, CaseIterable {
    case one = 1
    case two = 2

    /// The path of the SDK's Python interpreter, or `nil` if the SDK is not installed.
    var python: String? {
      let package = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..").standardizedFileURL.path
      return [package, FileManager.default.currentDirectoryPath]
        .map { "\($0)/.build/mcp-sdk/\(rawValue)/bin/python" }
        .first(where: FileManager.default.isExecutableFile)
    }

    static var areInstalled: Bool { allCases.allSatisfy { $0.python != nil } }
  }

  /// The environment of Python programs. Connections within this machine use no proxy.
  static let environment = ["NO_PROXY": "*", "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": "1"]

  /// Returns the environment of Python programs that sign in by OAuth. Their browser is a script.
  ///
  /// - Parameter codes: The pipe with the pairing codes.
  static func signIn(_ codes: String) -> [String: String] {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "SDK/browser.py").path
    // The ampersand starts the browser in the background, as a graphical one would be.
    let browser = "\(SDK.two.python ?? "python3") \(script) %s &"
    return environment.merging(["HOLDFAST_CODES": codes, "BROWSER": browser]) { $1 }
  }

  /// An SDK, its connection mode, and the protocol version that it should negotiate.
  struct Kind: Sendable, CustomTestStringConvertible {
    var sdk: SDK
    var mode = "auto"
    /// The protocol version that should be negotiated.
    var version: String

    var testDescription: String { "SDK \(sdk.rawValue), \(mode)" }

    static let all = [
      Kind(sdk: .one, version: "2025-11-25"),
      Kind(sdk: .two, mode: "legacy", version: "2025-11-25"),
      Kind(sdk: .two, version: "2026-07-28"),
    ]

    /// A third-party client that uses the newer SDK and its own sign-in code.
    static let fastMCP = Kind(sdk: .two, mode: "fastmcp", version: "2026-07-28")
  }

  /// A line that the process prints.
  struct Answer: Decodable, Sendable {
    var id: Int
    var version: String?
    var tools: [String]?
    var isError: Bool?
    var structured: Structured?
    var text: String?
    /// Whether the text is the structured content as JSON. Many clients show only the text.
    var isTold: Bool?
    var progress: [Progress]?
    var cancelled: Bool?
    /// The error that the SDK itself reported.
    var failed: String?
  }

  /// The members of `structuredContent` that the tests check.
  struct Structured: Decodable, Sendable, Equatable {
    var success: Bool
    var error: String?
    var message: String?
    var access_token: String?
    var count: Int?
    var value_type: String?
    var healthData: [Point]?
    var results: [Line]?

    struct Point: Decodable, Sendable, Equatable {
      var type: String
      var value: Double
    }

    struct Line: Decodable, Sendable, Equatable {
      var value_type: String
      var success: Bool
    }
  }

  /// A call of the progress callback: seconds elapsed, seconds in total, and a message.
  struct Progress: Decodable, Sendable, Equatable {
    var done: Double
    var total: Double?
    var message: String?

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      done = try list.decode(Double.self)
      total = try list.decodeIfPresent(Double.self)
      message = try list.decodeIfPresent(String.self)
    }
  }

  struct Ended: Error {
    var diagnostics: [String]
  }

  private let process: LabProcess
  private var answers: [Int: Result<Answer, any Error>] = [:]
  private var waiters: [Int: CheckedContinuation<Answer, any Error>] = [:]
  private var end: Ended?
  private var lastID = 0
  /// The access token that an assistant without a session passes with each call.
  private(set) var token: String?

  /// Starts an assistant, and waits until it is connected. Returns it and the negotiated version.
  ///
  /// - Parameters:
  ///   - path: The path of the endpoint.
  ///   - codes: The pipe with the pairing codes, if the assistant signs in on a page.
  static func connect(
    _ kind: Kind, to url: String, path: String = "/mcp", codes: String? = nil
  ) async throws -> (Assistant, String?) {
    try await connect(kind, target: url + path, codes: codes)
  }

  /// Starts an assistant that starts `holdfast` with arguments, and waits until it is connected.
  static func connect(
    _ kind: Kind, starting arguments: [String]
  ) async throws -> (Assistant, String?) {
    try await connect(kind, target: command(arguments))
  }

  /// Returns the command line of `holdfast` with arguments, as the scripts read it.
  static func command(_ arguments: [String]) throws -> String {
    String(decoding: try JSONEncoder().encode([CommandProcess.path] + arguments), as: UTF8.self)
  }

  private static func connect(
    _ kind: Kind, target: String, codes: String? = nil
  ) async throws -> (Assistant, String?) {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "SDK/assistant.py").path
    let process = try LabProcess(
      [kind.sdk.python ?? "python3", script, target, kind.mode],
      environment: codes.map { signIn($0) } ?? environment)
    let assistant = Assistant(process)
    Task { await assistant.listen() }
    return (assistant, try await assistant.answer(to: 0).version)
  }

  private init(_ process: LabProcess) {
    self.process = process
  }

  private func listen() async {
    for await line in process.lines {
      guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line.utf8)) else {
        continue
      }
      if let waiter = waiters.removeValue(forKey: answer.id) {
        waiter.resume(returning: answer)
      } else {
        answers[answer.id] = .success(answer)
      }
    }
    var diagnostics: [String] = []
    for await line in process.diagnostics { diagnostics.append(line) }
    let end = Ended(diagnostics: diagnostics)
    self.end = end
    for id in waiters.keys.sorted() { waiters.removeValue(forKey: id)?.resume(throwing: end) }
  }

  func answer(to id: Int) async throws -> Answer {
    if let answer = answers.removeValue(forKey: id) { return try answer.get() }
    if let end { throw end }
    return try await withCheckedThrowingContinuation { waiters[id] = $0 }
  }

  // MARK: - Orders

  /// Sends an order to the process, and returns the order's id.
  @discardableResult
  func begin(_ what: String, _ members: String = "") -> Int {
    lastID += 1
    process.send(#"{"id":\#(lastID),"do":"\#(what)"\#(members.isEmpty ? "" : "," + members)}"#)
    return lastID
  }

  func order(_ what: String, _ members: String = "") async throws -> Answer {
    try await answer(to: begin(what, members))
  }

  /// Begins a tool call. `arguments` contains JSON members.
  func beginCall(_ tool: String, _ arguments: String = "", progress: Bool = false) -> Int {
    var all = arguments
    if let token, tool != "direct_login" {
      all += (all.isEmpty ? "" : ",") + #""access_token":"\#(token)""#
    }
    return begin("call", #""tool":"\#(tool)","arguments":{\#(all)},"progress":\#(progress)"#)
  }

  func call(_ tool: String, _ arguments: String = "") async throws -> Answer {
    try await answer(to: beginCall(tool, arguments))
  }

  /// Logs in with a word and a code. If `storesToken` is true, the token is stored and sent with
  /// each later call.
  func login(word: String, code: String, storesToken: Bool) async throws -> Answer {
    let answer = try await call("direct_login", #""word":"\#(word)","code":"\#(code)""#)
    if storesToken { token = answer.structured?.access_token }
    return answer
  }

  /// Kills the process to simulate a crash.
  func kill() {
    process.signal(SIGKILL)
  }

  /// Closes the connection cleanly, and waits for the process to exit.
  func leave() async {
    begin("end")
    _ = await process.exit()
  }
}
