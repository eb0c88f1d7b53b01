import Foundation
import HoldfastCore
import HoldfastHerd
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct HerdCommandTests {
  private func herd(_ arguments: [String]) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(["herd"] + arguments, of: "HoldfastBench")
  }

  @Test func `shows four fleets and the first one's timeline`() async throws {
    let shown = try await herd(
      ["--clients", "600", "--cause", "close", "--outage", "0s", "--capacity", "off"])
    #expect(shown.status == 0)
    #expect(shown.errors == [])
    #expect(
      shown.output.first
        == "600 clients, close for 0s; the server accepts all clients; seed 1")
    for name in ["message-stream"] + Naive.allCases.map(\.rawValue) {
      #expect(shown.output.contains { $0.hasPrefix(name + " ") }, "\(name)")
    }
    #expect(shown.output.contains { $0.hasPrefix("SECOND") })
    #expect(shown.output.last?.hasSuffix("100.0%") == true)
    let again = try await herd(
      ["--clients", "600", "--cause", "close", "--outage", "0", "--capacity", "off"])
    #expect(again == shown)
  }

  @Test func `prints the result of the model`() async throws {
    let printed = try await herd(
      [
        "--clients", "61", "--outage", "10s", "--alone", "--json", "--seed", "7", "--when-full",
        "wait", "--set", "retry.serverJitter=1s",
      ])
    #expect(printed.output.count == 1)
    let line = try #require(printed.output.first)
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    // Admitting 61 clients within a minute requires a capacity of two per second.
    let plan = HerdPlan(
      clients: 61, outage: Outage(.crash, for: .seconds(10)),
      door: Door(capacity: 2, whenFull: .wait), seed: 7)
    let policy = try LinkPolicy.messageStream.setting([("retry.serverJitter", "1s")])
    let result = Herd.policy(policy).play(plan)
    #expect(object["capacity"] as? Int == 2)
    #expect(object["tries"] as? Int == result.total.tries)
    #expect(object["polls"] as? Int == result.total.polls)
    let seconds = try #require(object["seconds"] as? [String: [Int]])
    #expect(seconds["tries"] == result.seconds.map(\.tries))
    #expect(seconds["connected"] == result.connected)
  }

  @Test func `writes the chart, and takes a policy from a file`() async throws {
    try await CommandProcess.scratch { directory in
      let (policy, chart) = (directory + "/mine.json", directory + "/herd.svg")
      try Data(#"{"preset":"session","retry.serverJitter":"30s"}"#.utf8)
        .write(to: URL(filePath: policy))
      let run = try await herd(
        ["--clients", "50", "--outage", "5s", "--policy", policy, "--svg", chart])
      #expect(run.status == 0)
      let svg = try String(contentsOf: URL(filePath: chart), encoding: .utf8)
      #expect(svg.contains("<title id=\"title\">session: 50 clients after an outage of 5s"))
      let socket = try await herd(
        ["--clients", "50", "--outage", "5s", "--policy", "socket"])
      #expect(socket.status == 0)
      let lost = try await herd(
        ["--clients", "1", "--alone", "--svg", directory + "/none/herd.svg"])
      #expect(lost.status == 1)
      #expect(lost.errors.first?.contains("cannot be written") == true)
    }
  }

  @Test(arguments: [
    ("clients", "1", nil), ("clients", "0", "a whole number from 1 to 5000000"),
    ("clients", "5000001", "a whole number from 1 to 5000000"),
    ("capacity", "1/s", nil), ("capacity", "10000000", nil),
    ("capacity", "0/s", "a whole number from 1 to 10000000, then /s, or off"),
    ("capacity", "10000001/s", "a whole number from 1 to 10000000, then /s, or off"),
    ("outage", "0s", nil), ("outage", "4h", nil),
    ("outage", "14401s", "a duration from 0s to 4h, such as 90s or 15m"),
    ("seed", "0", nil), ("seed", "-1", "a whole number from 0 to 9223372036854775807"),
    ("when-full", "drop", "one of refuse, wait"),
  ])
  func `accepts options within their limits and refuses others`(
    option: String, value: String, expected: String?
  ) async throws {
    let small = option == "clients" ? [] : ["--clients", "2"]
    let run = try await herd(
      ["--alone", "--json"] + small + ["--\(option)=\(value)"])
    if let expected {
      let line =
        #"HoldfastBench herd: --\#(option) cannot be "\#(value)"; it must be \#(expected)"#
      #expect(run == .failure(2, line))
    } else {
      #expect(run.status == 0)
    }
  }

  @Test(arguments: [
    (["--policy", "bottle-link"], "bottle-link waits for its operating system"),
    (["--policy", "nope"], "no policy is named nope"),
    (["--set", "retry.sprad=1s"], "retry.sprad is not a policy key"),
  ])
  func `refuses policies that it cannot play`(arguments: [String], cause: String) async throws {
    let run = try await herd(
      arguments)
    #expect(run.status == 2)
    #expect(run.errors.first?.contains(cause) == true)
  }
}
