import Foundation
import HoldfastLinkChecks
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of the options `--html` and `--trace-file`.
@Suite(.timeLimit(.minutes(60))) struct SimulatePictureTests {
  private static let failing = [
    "simulate", "message-stream", "--server", "plain", "--break", "showsBeforeStored",
  ]

  private func drawn(_ outcome: CommandProcess.Outcome) throws -> [String] {
    try outcome.output.map { try [String: Any].reading($0) }
      .filter { $0["event"] as? String == "drawn" }.compactMap { $0["file"] as? String }
  }

  @Test func `the page and the trace of a seed are private files`() async throws {
    let scratch = try Scratch()
    let (page, trace) = (scratch("run.html"), scratch("run.jsonl"))
    let outcome = try await SimulatorProcess.run(
      "simulate", "held-socket", "--seeds", "3", "--html", page, "--trace-file", trace, "--json")
    #expect(outcome.status == 0 && outcome.errors == [])
    #expect(try drawn(outcome) == [page, trace])
    #expect(try scratch.mode(of: "run.html") == 0o600)
    #expect(try scratch.mode(of: "run.jsonl") == 0o600)
    #expect(try TraceForm.problems(try scratch.bytes(of: "run.jsonl")) == [])
    let header = try scratch.text(of: "run.jsonl").split(separator: "\n").first ?? ""
    #expect(header.contains(#""source":"simulator","machine":"held-socket""#))
    #expect(header.contains(#""seed":"3","world":true"#))
    #expect(try scratch.text(of: "run.html").contains(header))
  }

  @Test func `each phone has a trace of its own`() async throws {
    let scratch = try Scratch()
    let outcome = try await SimulatorProcess.run(
      "simulate", "session", "--seeds", "2", "--trace-file", scratch("a.b/../run.jsonl"))
    #expect(outcome.status == 1, "the folder a.b does not exist")
    let traces = try await SimulatorProcess.run(
      "simulate", "session", "--seeds", "2", "--trace-file", scratch("run.jsonl"))
    #expect(traces.status == 0)
    #expect(
      traces.output.suffix(2) == [
        "the trace of seed 2, phone 0, is in \(scratch("run-0.jsonl"))",
        "the trace of seed 2, phone 1, is in \(scratch("run-1.jsonl"))",
      ])
    for name in ["run-0.jsonl", "run-1.jsonl"] {
      #expect(try TraceForm.problems(try scratch.bytes(of: name)) == [])
    }
  }

  @Test func `of several seeds, the first one that failed is drawn`() async throws {
    let scratch = try Scratch()
    let page = scratch("run.html")
    let failed = try await SimulatorProcess.run(
      Self.failing + ["--seeds", "1..3", "--html", page])
    #expect(failed.status == 1)
    #expect(failed.output.last == "the page of seed 1, plain is in \(page)")
    #expect(try scratch.text(of: "run.html").contains(#""lane":"finding""#))
    let none = try await SimulatorProcess.run(
      "simulate", "held-socket", "--seeds", "1..2", "--html", scratch("none.html"))
    #expect(none.status == 0)
    #expect(
      none.errors == [
        "holdfast-sim simulate held-socket: no run failed, so there is nothing to draw; "
          + "add --seeds N to draw one run"
      ])
    #expect(!FileManager.default.fileExists(atPath: scratch("none.html")))
    let servers = try await SimulatorProcess.run(
      "simulate", "message-stream", "--seeds", "1", "--html", scratch("none.html"))
    #expect(servers.errors.first?.hasSuffix("; add --server KIND to draw one run") == true)
  }

  @Test func `a shrunk plan has a page beside it`() async throws {
    let scratch = try Scratch()
    let outcome = try await SimulatorProcess.run(
      Self.failing + ["--seeds", "1", "--shrink", "--corpus", scratch("plan.json")])
    #expect(outcome.status == 1)
    #expect(
      outcome.output.dropLast().last == "the page of seed 1, plain is in \(scratch("plan.html"))")
    let found = try scratch.text(of: "plan.html")
    #expect(found.contains(#""lane":"finding""#))
    let plan = try await SimulatorProcess.run(
      "simulate", "message-stream", "--plan", scratch("plan.json"), "--trace", "--html",
      scratch("again.html"))
    #expect(plan.status == 1)
    #expect(try scratch.text(of: "again.html") == found)
  }

  @Test func `all worlds write their pages into a folder`() async throws {
    let scratch = try Scratch()
    let clean = try await SimulatorProcess.run(
      "simulate", "all", "--seeds", "1..2", "--html", scratch.path)
    #expect(clean.status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    let missing = try await SimulatorProcess.run(
      "simulate", "all", "--seeds", "1", "--html", scratch("none"))
    #expect(missing.status == 1)
    #expect(missing.errors.first?.contains("none/message-stream.html cannot be written") == true)
  }

  @Test(arguments: [
    (["--break", "all", "--html", "x"], "--html has no effect beside --break all; omit --html"),
    (
      ["--break", "all", "--trace-file", "x"],
      "--trace-file has no effect beside --break all; omit --trace-file"
    ),
    (
      ["--html", "-"], "--html cannot be standard output, where results are printed; name a file"
    ),
    (
      ["--html", "x", "--trace-file", "x"],
      "--html would replace x, which the command also uses; name another file"
    ),
    (
      ["--html", "/dev/null"], "/dev/null is not a regular file; name another file with --html"
    ),
    (
      ["--shrink", "--corpus", "x.json", "--html", "./x.json"],
      "--html would replace x.json, which the command also uses; name another file"
    ),
  ])
  func `options without an effect are refused`(arguments: [String], line: String) async throws {
    let outcome = try await SimulatorProcess.run(["simulate", "held-socket"] + arguments)
    #expect(outcome == .failure(2, "holdfast-sim simulate held-socket: " + line))
  }
}
