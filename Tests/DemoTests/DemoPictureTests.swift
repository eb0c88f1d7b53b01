import Foundation
import HoldfastTestKit
import Testing

/// Tests of the page that the demo writes.
@Suite(.timeLimit(.minutes(60))) struct DemoPictureTests {
  @Test func `each link of a demo has a trace with its faults`() async throws {
    let scratch = try Scratch()
    let outcome = try await CommandProcess.run(
      "demo", "--work", "600s", "--chapter", "cut", "--chapter", "session", "--chapter", "feed",
      "--html", scratch("demo.html"), "--json")
    #expect(outcome.status == 0, "\(outcome.output)")
    let last = try [String: Any].reading(outcome.output.last)
    #expect(last["event"] as? String == "drawn")
    #expect(last["file"] as? String == scratch("demo.html"))
    #expect(try scratch.mode(of: "demo.html") == 0o600)
    let traces = try Self.traces(in: scratch.text(of: "demo.html"))
    try #require(traces.map(\.name) == ["Shop messages", "Session", "Feed"])
    let faults = traces.map { trace in
      trace.facts.filter { $0["kind"] as? String == "trouble" }
        .map { "\($0["name"] ?? "") \($0["until"] == nil)" }
    }
    #expect(
      faults == [
        ["link cut false"], ["app and server killed false"],
        ["feed cut", "feed half-open", "feed restart"].map { $0 + " false" },
      ])
    for trace in traces {
      let counts = Self.counts(of: trace.facts)
      // An app that was killed may show its last messages again, or have shown them without a trace.
      // Two were lost on a busy machine.
      let repeated = (counts["message"] ?? 0) - (counts["accepted"] ?? 0)
      let most = trace.name == "Session" ? 4 : 0
      #expect(abs(repeated) <= most, "\(trace.name): \(repeated)")
      #expect(counts["woke"] == nil, "\(trace.name)")
    }
    Self.expectOneKill(in: traces[1].facts)
    let downs = traces[2].facts.filter { $0["kind"] as? String == "down" }
    #expect(downs.count == 1 && downs[0]["until"] != nil)
    let kinds = Set(traces[0].facts.compactMap { $0["kind"] as? String })
    #expect(kinds.isSuperset(of: ["accepted", "message", "up", "end", "state"]))
    for trace in traces {
      let times = trace.facts.map { $0["t"] as? Double ?? -1 }
      #expect(times == times.sorted() && times.first ?? -1 >= 0, "\(trace.name)")
    }
  }

  /// Expects a kill between two runs. On a busy machine, the first run may have ended before it had
  /// begun its journal.
  private static func expectOneKill(in facts: [[String: Any]]) {
    let runs = facts.compactMap { $0["value"] as? String }
      .filter { $0 == "launched" || $0 == "killed" }
    #expect(runs == ["launched", "killed", "launched"] || runs == ["launched"])
  }

  /// Returns the number of facts of each kind.
  private static func counts(of facts: [[String: Any]]) -> [String: Int] {
    facts.reduce(into: [:]) { $0[$1["kind"] as? String ?? "", default: 0] += 1 }
  }

  private static func traces(
    in page: String
  ) throws -> [(name: String, facts: [[String: Any]])] {
    let parts = page.components(separatedBy: "<script type=\"application/x-trace\">\n").dropFirst()
    return try parts.map { part in
      let text = part.components(separatedBy: "</script>")[0]
      let lines = try text.split(separator: "\n").map { try [String: Any].reading(String($0)) }
      return (lines.first?["name"] as? String ?? "", Array(lines.dropFirst()))
    }
  }
}
