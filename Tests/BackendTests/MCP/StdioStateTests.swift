import Foundation
import Glibc
import Holdfast
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

/// Tests of what `holdfast mcp` says about its store and about its time zone.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct StdioStateTests {
  private static let hello =
    #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#
  private static let list =
    #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_health_types"}}"#

  /// Asks which types are stored. Returns the answer and the diagnostics.
  private static func listed(
    _ arguments: [String], zone: String? = nil
  ) async throws -> (content: [String: Any], errors: [String]) {
    var environment = ProcessInfo.processInfo.environment
    environment["TZ"] = zone
    let process = try CommandProcess.start(["mcp"] + arguments, environment: environment)
    process.send(hello)
    process.send(list)
    process.endInput()
    let outcome = await CommandProcess.outcome(of: process)
    let result = try [String: Any].reading(outcome.output.last)["result"] as? [String: Any]
    return (try #require(result?["structuredContent"] as? [String: Any]), outcome.errors)
  }

  @Test(arguments: [
    ("Europe/Berlin", "Europe/Berlin", "2026-03-01T09:00:00"),
    (":Europe/Berlin", "Europe/Berlin", "2026-03-01T09:00:00"),
    ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin", "2026-03-01T09:00:00"),
    ("CET-1CEST,M3.5.0,M10.5.0/3", nil, "2026-03-01T09:00:00"),
    ("<+02>-2", nil, "2026-03-01T10:00:00"), ("XYZ-5", nil, "2026-03-01T13:00:00"),
    ("", "UTC", "2026-03-01T08:00:00"),
  ])
  func `the time zone of TZ is followed`(zone: String, name: String?, first: String) async throws {
    let scratch = try Scratch()
    let data = try await StdioRig.imported(scratch).prefix(2)
    let (content, errors) = try await Self.listed(Array(data), zone: zone)
    let types = try #require(content["types"] as? [[String: Any]])
    #expect(types.first { $0["value_type"] as? String == "STEPS" }?["first"] as? String == first)
    if let name { #expect(content["time_zone"] as? String == name) }
    #expect(errors == [])
  }

  @Test func `a TZ that is no time zone is named on standard error`() async throws {
    let scratch = try Scratch()
    let data = try await StdioRig.imported(scratch).prefix(2)
    let (content, errors) = try await Self.listed(Array(data), zone: "Nowhere/Bad")
    #expect(content["time_zone"] as? String == "UTC")
    #expect(errors.count == 1)
    #expect(errors.first?.contains(#"TZ is "Nowhere/Bad""#) == true)
    #expect(errors.first?.contains("--time-zone") == true)
    let chosen = Array(data) + ["--time-zone", "Europe/Berlin"]
    #expect(try await Self.listed(chosen, zone: "Nowhere/Bad").errors == [])
  }

  @Test func `an import that was interrupted is named in the answers, until one ends`()
    async throws
  {
    let scratch = try Scratch()
    let data = try await StdioRig.imported(scratch)
    #expect(try await Self.listed(data).content["note"] == nil)
    let whole = try StdioRig.export(steps: 100, day: 6)
    try whole.dropLast(80).write(to: URL(filePath: scratch("cut.xml")))
    try whole.write(to: URL(filePath: scratch("whole.xml")))
    let options = Array(data.prefix(2))
    #expect(
      try await CommandProcess.run(["health", "import", scratch("cut.xml")] + options).status == 1)
    let note = try await Self.listed(data).content["note"] as? String
    #expect(note?.contains("did not reach the end of its export") == true)
    #expect(
      try await CommandProcess.run(["health", "import", scratch("whole.xml")] + options).status
        == 0)
    #expect(try await Self.listed(data).content["note"] == nil)
  }

  @Test func `while another process imports for the first time, answers say so`() async throws {
    let scratch = try Scratch()
    let store = try await HoldfastPlatform.healthStore(in: scratch("data"))
    try await store.noteUnfinished(since: .init(nanoseconds: 1))
    let data = ["--data", scratch("data")]
    #expect(try await Self.listed(data).content["error"] as? String == "importing")
    try StdioRig.export(steps: 100).write(to: URL(filePath: scratch("small.xml")))
    let (content, errors) = try await Self.listed(data + ["--watch", scratch("small.xml")])
    #expect(content["error"] as? String == "importing")
    #expect(errors.first?.contains("tried again every minute") == true)
    await store.close()
    let (later, _) = try await Self.listed(data)
    #expect(later["error"] as? String == "no_data")
    #expect((later["message"] as? String)?.contains("--data \(scratch("data"))") == true)
  }

  @Test func `the remedy names the whole path, and a new directory is reported`() async throws {
    let scratch = try Scratch()
    let place = URL(filePath: scratch("data")).path
    let (content, errors) = try await Self.listed(["--data", scratch("./none/../data")])
    #expect((content["message"] as? String)?.contains("--data \(place)`") == true)
    #expect(errors.first?.contains("there were no health data in \(place)") == true)
  }
}
