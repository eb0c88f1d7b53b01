import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct CommandPolicyTests {
  @Test func `shows the required schedule of the message stream`() async throws {
    let shown = try await CommandProcess.run("policy", "show", "message-stream")
    #expect(shown.status == 0)
    #expect(shown.errors == [])
    let start = try #require(shown.output.firstIndex { $0.hasPrefix("First connection") })
    #expect(
      shown.output[start...].prefix(16).joined(separator: "\n") == """
        First connection (the first attempt is immediate and not counted):
        ATTEMPT  WAIT  TOTAL WAIT
        1        1s    1s
        2        2s    3s
        3        4s    7s
        4        8s    15s
        5        16s   31s

        After the loss of an established connection:
        ATTEMPT  WAIT  TOTAL WAIT
        1        0s    0s
        2        1s    1s
        3        2s    3s
        4        4s    7s
        5        8s    15s

        """)
    for (key, value) in LinkPolicy.messageStream.values {
      #expect(shown.output.contains { $0.split(separator: " ").prefix(1) == [key[...]] }, "\(key)")
      #expect(shown.output.contains { $0.contains(value) })
    }
  }

  @Test func `shows the jitter of an exponential schedule`() async throws {
    let shown = try await CommandProcess.run("policy", "show", "session")
    let row = shown.output.first { $0.hasPrefix("3   ") }
    #expect(row == "3        3s to 5s        5.5s to 8.75s")
    let endless = try await CommandProcess.run(
      "policy", "show", "session", "--set", "retry.first=1s*1 max 1s +-0 min 1s xunlimited")
    #expect(endless.output.contains("and so on without end"))
    let none = try await CommandProcess.run("policy", "show", "bottle-link")
    #expect(none.output.contains("no attempts: standby immediately"))
  }

  @Test func `prints every value as JSON, including changed ones`() async throws {
    let shown = try await CommandProcess.run(
      "policy", "show", "message-stream", "--json", "--set", "retry.first=1s,250ms")
    #expect(shown.status == 0)
    #expect(shown.output.count == 1)
    let object = try [String: Any].reading(shown.output.first)
    #expect(object["name"] as? String == "message-stream")
    let policy = try LinkPolicy.messageStream.setting([("retry.first", "1s,250ms")])
    let values = Dictionary(uniqueKeysWithValues: policy.values.map { ($0.key, $0.value) })
    #expect(object["values"] as? [String: String] == values)
    let schedule = try #require(object["schedule"] as? [String: [[String: Any]]])
    let first = try #require(schedule["first"])
    #expect(first.map { $0["try"] as? Int } == [1, 2])
    #expect(first.map { $0["waitMax"] as? String } == ["1s", "250ms"])
    #expect(first.map { $0["sinceMin"] as? String } == ["1s", "1.25s"])
    let again = try await CommandProcess.run(
      "policy", "show", "message-stream", "--json", "--set", "retry.first=1s,250ms")
    #expect(again == shown)
  }

  @Test func `lists every preset`() async throws {
    let names = LinkPolicy.presets.map(\.name)
    let table = try await CommandProcess.run("policy", "list")
    #expect(
      table.output.dropFirst().map { String($0.prefix { $0 != " " }) } == names)
    let lines = try await CommandProcess.run("policy", "list", "--json")
    #expect(try lines.output.map { try [String: Any].reading($0)["name"] as? String } == names)
  }

  @Test func `checks policies in files`() async throws {
    try await CommandProcess.scratch { directory in
      func check(_ text: String, _ more: String...) async throws -> CommandProcess.Outcome {
        let file = directory + "/p.json"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        var outcome = try await CommandProcess.run(["policy", "check", file] + more)
        outcome.output = outcome.output.map { $0.replacing(directory, with: "D") }
        outcome.errors = outcome.errors.map { $0.replacing(directory, with: "D") }
        return outcome
      }
      #expect(
        try await check(#"{"preset":"session","liveness.ping":"20s"}"#)
          == .init(
            status: 0,
            output: ["D/p.json: valid, session with 1 difference", "  liveness.ping: 30s -> 20s"],
            errors: []))
      let bad = try await check(#"{"preset":"session","liveness.ping":"2h"}"#, "--json")
      #expect(bad.status == 1)
      let problem = "liveness.ping must be shorter than liveness.silence"
      #expect(try [String: Any].reading(bad.output.first)["problems"] as? [String] == [problem])
      #expect(bad.errors == ["holdfast policy check: D/p.json: \(problem)"])
      #expect(
        try await check(#"{"preset":"sesion"}"#)
          == .failure(
            1,
            "holdfast policy check: D/p.json: there is no preset sesion; "
              + "use one of \(LinkPolicy.presets.map(\.name).joined(separator: ", "))"))
      #expect(try await check(#"{"preset":"session","a":"1","a":"2"}"#).status == 1)
      #expect(try await check(#"{"preset":"session"} x"#).status == 1)
      #expect(try await check("[]").status == 1)
      let shown = try await CommandProcess.run("policy", "show", "session", "--json")
      #expect(
        try await check(shown.output.joined()).output
          == ["D/p.json: valid, session with no differences"])
    }
  }
}
