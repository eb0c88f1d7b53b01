import Foundation
import HoldfastTestKit
import Testing

/// A process of `holdfast serve`, with one user for each phone.
final class SyncServer: Sendable {
  /// The address of the server.
  let url: String
  private let process: LabProcess
  private let scratch: Scratch

  /// Runs `body` with a server, which ends afterwards.
  static func run(users: Int, _ body: (SyncServer) async throws -> Void) async throws {
    let server = try await SyncServer(users: users)
    do {
      try await body(server)
    } catch {
      await server.end()
      throw error
    }
    await server.end()
  }

  private init(users: Int) async throws {
    let scratch = try Scratch()
    let lines = (0..<users).map { "\(Self.name(of: $0)) \(Self.secret(of: $0)) Etc/UTC\n" }
    try scratch.write(Array(lines.joined().utf8), to: "secrets")
    let process = try CommandProcess.start([
      "serve", "--port", "0", "--json", "--data", scratch("server"), "--sync-secret-file",
      scratch("secrets"), "--log-level", "error",
    ])
    var first: String?
    for await line in process.lines {
      first = line
      break
    }
    let ready = try [String: Any].reading(first)
    (self.scratch, self.process) = (scratch, process)
    url = try #require(ready["url"] as? String)
  }

  private func end() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }

  static func name(of user: Int) -> String { "user\(user)" }

  static func secret(of user: Int) -> String { "secret-of-user-\(user)-hush" }

  /// Returns, by user, the values of the stored samples in order. A sample that is stored twice
  /// occurs twice.
  func held() async throws -> [String: [Int]] {
    let script = """
      import json, sqlite3
      rows = sqlite3.connect('\(scratch("server"))/sync.sqlite').execute(
        "select names.text, raw from samples join names on names.id = user")
      for (user, raw) in rows: print(user, int(json.loads(raw)['value']))
      """
    let done = await CommandProcess.outcome(of: try LabProcess(["python3", "-c", script]))
    #expect(done.errors == [])
    var held: [String: [Int]] = [:]
    for line in done.output {
      let fields = line.split(separator: " ")
      held[String(fields[0]), default: []].append(Int(fields[1]) ?? -1)
    }
    return held.mapValues { $0.sorted() }
  }
}
