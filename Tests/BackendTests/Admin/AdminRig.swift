import Foundation
import HoldfastCore
import HoldfastMessageServer
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// A running backend with a Unix socket for operators.
struct AdminRig {
  let rig: BackendRig
  let client: AdminClient
  let scratch: Scratch

  /// Runs `body` against a backend, and keeps the directory in `scratch`.
  static func run(
    in scratch: Scratch, _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (AdminRig) async throws -> Void
  ) async throws {
    let place = "unix:" + scratch("data/admin.sock")
    let address = try AdminAddress(place)
    try await BackendRig.run(in: scratch("data")) {
      $0.admin = address
      // Tests post faster than people do.
      $0.policy.postBurst = 1_000
      configure(&$0)
    } _: { rig in
      try await body(
        AdminRig(rig: rig, client: try AdminClient(place), scratch: scratch))
    }
  }

  /// Sends a request. Returns the status and the body.
  func ask(
    _ method: String, _ path: String..., query: [(name: String, value: String)] = [],
    body: String = ""
  ) async throws -> (status: Int, body: String) {
    let answer = try await client.ask(method, path, query: query, body: Array(body.utf8))
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  /// Begins the erasure of a user. Returns the job.
  func erase(_ user: String) async throws -> String {
    let answer = try await ask("DELETE", "users", user)
    #expect(answer.status == 202)
    return String(try #require(answer.body.firstMatch(of: #/"id":"([0-9a-f-]{36})"/#)).1)
  }

  /// Waits until a job has ended. Returns what the server says about it.
  func end(of job: String) async throws -> String {
    while true {
      let answer = try await ask("GET", "jobs", job)
      #expect(answer.status == 200)
      if answer.body.contains(#""state":"done""#) { return answer.body }
    }
  }

  /// Returns the files of the data directory that contain a text.
  func files(with text: String) throws -> [String] {
    let (sought, root) = (Data(text.utf8), scratch("data"))
    let names = try FileManager.default.subpathsOfDirectory(atPath: root)
    return names.filter { name in
      let content = FileManager.default.contents(atPath: "\(root)/\(name)") ?? Data()
      return name.contains(text) || content.range(of: sought) != nil
    }
  }

  /// The acts that were logged.
  var acts: [String] { rig.lines.all.filter { $0.contains(#""event":"admin""#) } }
}
