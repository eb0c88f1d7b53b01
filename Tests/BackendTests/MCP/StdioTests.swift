import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of the lines that `holdfast mcp` reads and writes.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct StdioTests {
  private static let hello =
    #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#

  private static func steps(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":{"name":"get_health_metrics","#
      + #""arguments":{"value_type":"STEPS","group_by":"TOTAL","start_time":"2026-03-01","#
      + #""end_time":"2026-03-04"}}}"#
  }

  @Test func `broken lines are answered with errors, and the end of the input is the end`()
    async throws
  {
    let scratch = try Scratch()
    let process = try CommandProcess.start(["mcp"] + (try await StdioRig.imported(scratch)))
    let long = String(repeating: "x", count: 1 << 20)
    for line in [
      Self.hello, "{", long, long + "x", #"{"jsonrpc":"2.0","id":1,"method":"x/y"}"#, "",
      #"[{"jsonrpc":"2.0","id":2,"method":"ping"},\#(Self.steps(3))]"#, Self.steps(4),
    ] { process.send(line) }
    process.endInput()
    let outcome = await CommandProcess.outcome(of: process)
    #expect(outcome.status == 0)
    #expect(outcome.errors == [])
    #expect(outcome.output.count == 7)
    guard outcome.output.count == 7 else { return }
    let codes = [nil, -32700, -32700, -32600, -32601]
    for (line, code) in zip(outcome.output, codes) {
      let error = try [String: Any].reading(line)["error"] as? [String: Any]
      #expect(error?["code"] as? Int == code, "\(line.prefix(200))")
    }
    #expect(outcome.output[3].contains("a line of 1048577 bytes"))
    let rest = outcome.output[5...].sorted()
    #expect(rest.first?.hasPrefix(#"[{"jsonrpc":"2.0","id":2,"result":{}},"#) == true)
    #expect(rest.last?.contains(#""id":4"#) == true)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal ends the program`(signal: Int32) async throws {
    let scratch = try Scratch()
    let process = try CommandProcess.start(["mcp", "--data", scratch("data")])
    process.send(Self.hello)
    var lines = process.lines.makeAsyncIterator()
    #expect(await lines.next()?.contains(#""protocolVersion":"2025-03-26""#) == true)
    process.signal(signal)
    #expect(await process.exit() == 0)
    #expect(await lines.next() == nil)
  }

  @Test func `a script that writes all questions before it reads gets all answers`() async throws {
    let scratch = try Scratch()
    let data = try await StdioRig.imported(scratch)
    let process = try CommandProcess.start(["mcp"] + data)
    process.send(Self.hello)
    for id in 1...1_000 { process.send(Self.steps(id)) }
    process.endInput()
    let outcome = await CommandProcess.outcome(of: process)
    #expect(outcome.status == 0)
    #expect(outcome.output.count == 1_001)
    #expect(outcome.output.dropFirst().allSatisfy { $0.contains(#""value\":600"#) })
  }

  @Test func `a kill in the middle of an import leaves the store whole`() async throws {
    let scratch = try Scratch()
    let (path, data) = (scratch("export.xml"), scratch("data"))
    let made = try await CommandProcess.run(
      "health", "generate", "--size", "8MB", "--seed", "3", path)
    #expect(made.status == 0)
    let arguments = ["mcp", "--data", data, "--time-zone", "UTC", "--watch", path]
    for _ in 0..<3 {
      let process = try CommandProcess.start(arguments)
      try await Self.waitForSamples(data)
      process.signal(SIGKILL)
      _ = await process.exit()
      let shown = try await CommandProcess.run("health", "show", "--data", data, "--json")
      #expect(shown.status == 0, "\(shown.errors)")
    }
    let whole = try await Self.steps(arguments)
    let other = ["mcp", "--data", scratch("other"), "--time-zone", "UTC", "--watch", path]
    #expect(try await Self.steps(other) == whole)
    #expect(whole.count == 12)
  }

  /// Waits until an import has stored some samples.
  private static func waitForSamples(_ data: String) async throws {
    while true {
      let shown = try await CommandProcess.run("health", "show", "--data", data, "--json")
      if shown.output.first != nil { return }
    }
  }

  /// Returns the steps of each month of a year, as a program answers.
  ///
  /// On a busy machine an import may take longer than a call may last, which is an error; another
  /// program then imports the rest.
  private static func steps(_ arguments: [String]) async throws -> [String] {
    for _ in 0..<20 {
      if let steps = try await answered(arguments) { return steps }
    }
    return try #require(nil, "20 programs answered with an error")
  }

  /// Returns the steps of an answer; `nil` if the answer is an error.
  private static func answered(_ arguments: [String]) async throws -> [String]? {
    let process = try CommandProcess.start(arguments)
    process.send(hello)
    process.send(
      #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_health_metrics","#
        + #""arguments":{"value_type":"STEPS","group_by":"MONTH","start_time":"2025-01-01","#
        + #""end_time":"2026-01-01"}}}"#)
    process.endInput()
    let line = await CommandProcess.outcome(of: process).output.last
    let result = try [String: Any].reading(line)["result"] as? [String: Any]
    let content = try #require(result)["structuredContent"] as? [String: Any]
    return (content?["healthData"] as? [[String: Any]])?.map { "\($0["value"] ?? "")" }
  }
}

/// The data of the tests: three days with 200 steps each.
enum StdioRig {
  /// Imports an export. Returns the options of a program that reads it.
  static func imported(_ scratch: Scratch) async throws -> [String] {
    try export(steps: 200).write(to: URL(filePath: scratch("small.xml")))
    let options = ["--data", scratch("data")]
    let done = try await CommandProcess.run(
      ["health", "import", scratch("small.xml")] + options)
    #expect(done.status == 0, "\(done.errors)")
    return options + ["--time-zone", "UTC"]
  }

  /// Returns an export of a day in March 2026.
  static func export(steps: Int, day: Int = 5) throws -> Data {
    let records = (1...3).map { day in
      """
      <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Phone" unit="count" \
      startDate="2026-03-0\(day) 08:00:00 +0000" endDate="2026-03-0\(day) 09:00:00 +0000" \
      value="\(steps)"/>
      <Record type="HKQuantityTypeIdentifierDietaryWater" sourceName="Phone" unit="mL" \
      startDate="2026-03-0\(day) 08:00:00 +0000" endDate="2026-03-0\(day) 08:00:00 +0000" \
      value="250"/>
      """
    }
    return Data(
      """
      <HealthData><ExportDate value="2026-03-0\(day) 12:00:00 +0000"/>
      \(records.joined(separator: "\n"))
      </HealthData>
      """.utf8)
  }
}
