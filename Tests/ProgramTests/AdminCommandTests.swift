import Foundation
import Glibc
import HoldfastLab
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast admin` against a running `holdfast serve`.
@Suite(.timeLimit(.minutes(60))) struct AdminCommandTests {
  /// Runs `body` with a backend whose socket for operators is in its data directory.
  private static func run(
    _ body: (_ data: String, _ server: LabProcess) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    let data = scratch("data")
    let server = try CommandProcess.start([
      "serve", "--port", "0", "--json", "--data", data, "--admin-listen", "unix:\(data)/admin.sock",
    ])
    let first = try [String: Any].reading(await LineReader(server.lines).next())
    #expect(first["admin"] as? String == "unix:\(data)/admin.sock")
    try await body(data, server)
    server.signal(SIGKILL)
    _ = await server.exit()
  }

  private static func admin(
    _ data: String, _ arguments: String...
  ) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(["admin"] + arguments + ["--data", data])
  }

  @Test func `the lists of an idle backend have headings, and no objects`() async throws {
    try await Self.run { data, _ in
      let lists = [
        ["connections"]: "id  kind  user  shop  address  since  sent  client",
        ["presence", "--shop", "bakery"]: "user  sockets  since",
        ["phones"]: "phone  state  left  user  assistants  wakeable",
        ["jobs"]: "job  state  accepted  ended  messages  records  uploads  last failure",
      ]
      for (command, heading) in lists {
        let people = try await CommandProcess.run(["admin"] + command + ["--data", data])
        #expect(people == .init(status: 0, output: [heading], errors: []))
        let machines = try await CommandProcess.run(
          ["admin"] + command + ["--data", data, "--json"])
        #expect(machines == .init(status: 0, output: [], errors: []))
      }
    }
  }

  @Test func `publishes once under a key, erases the author, and drains`() async throws {
    try await Self.run { data, server in
      let key = "0123abcd-0000-4000-8000-000000000001"
      let words = ["publish", "--shop", "bakery", "--as", "bot", "--key", key, "Closed today"]
      var posts: [String] = []
      for _ in 0..<2 {
        let post = try await CommandProcess.run(["admin"] + words + ["--data", data])
        #expect(post.status == 0)
        posts += post.output
      }
      #expect(posts == ["Message created successfully", "Message already created"])
      let asked = try await Self.admin(data, "erase", "bot")
      #expect(asked.status == 2)
      #expect(asked.errors.count == 1 && asked.errors[0].contains("add --yes"))
      let erased = try await Self.admin(data, "erase", "bot", "--yes", "--json")
      let job = try [String: Any].reading(erased.output.first)
      let id = try #require(job["id"] as? String)
      while true {
        let shown = try await Self.admin(data, "jobs", id, "--json")
        let now = try [String: Any].reading(shown.output.first)
        guard now["state"] as? String == "done" else { continue }
        #expect(now["messages"] as? Int == 1)
        break
      }
      #expect(try await Self.admin(data, "drain").output == ["draining"])
      #expect(await server.exit() == 0)
      let gone = try await Self.admin(data, "connections")
      #expect(gone.status == 6)
      #expect(gone.errors.first?.contains("--admin-listen") == true)
    }
  }

  @Test func `a refusal of the server is told in its words`() async throws {
    try await Self.run { data, _ in
      let unknown = try await Self.admin(data, "disconnect", "--connection", "1")
      #expect(unknown.status == 1)
      #expect(unknown.errors.first?.contains("no such connection") == true)
      let both = try await Self.admin(data, "disconnect", "--connection", "1", "--user", "ann")
      #expect(both.status == 2)
      let user = try await Self.admin(data, "disconnect", "--user", "ann")
      #expect(user == .init(status: 0, output: ["closed 0"], errors: []))
    }
  }

  @Test func `a TCP address needs its token`() async throws {
    let scratch = try Scratch()
    let server = try CommandProcess.start([
      "serve", "--port", "0", "--json", "--data", scratch("data"), "--admin-listen",
      "127.0.0.1:0", "--admin-token-file", scratch("token"),
    ])
    let first = try [String: Any].reading(await LineReader(server.lines).next())
    let url = try #require(first["admin"] as? String)
    let without = try await CommandProcess.run("admin", "jobs", "--admin", url)
    #expect(without.status == 3)
    let with = try await CommandProcess.run(
      "admin", "jobs", "--admin", url, "--admin-token-file", scratch("token"))
    #expect(with.status == 0)
    let none = try await CommandProcess.run(
      "admin", "jobs", "--admin", url, "--admin-token-file", scratch("other"))
    #expect(none.status == 1)
    server.signal(SIGTERM)
    _ = await server.exit()
  }

  @Test(arguments: [
    ["--admin-listen", "localhost:1", "--admin-token-file", "/nonexistent/t"],
    ["--admin-listen", "127.0.0.1:1"], ["--admin-listen", "unix:"],
    ["--admin-token-file", "/nonexistent/t"],
  ])
  func `options that do not fit are refused with a remedy`(arguments: [String]) async throws {
    let scratch = try Scratch()
    let outcome = try await CommandProcess.run(
      ["serve", "--data", scratch("data")] + arguments)
    #expect(outcome.status == 2)
    #expect(outcome.errors.count == 1 && outcome.errors[0].contains("; "))
  }
}
