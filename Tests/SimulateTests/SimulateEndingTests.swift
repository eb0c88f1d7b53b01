import Foundation
import HoldfastTestKit
import Testing

/// Tests of commands that are ended before all seeds have run, and of their output.
@Suite(.timeLimit(.minutes(60))) struct SimulateEndingTests {
  @Test func `a signal ends all worlds`() async throws {
    let process = try SimulatorProcess.start([
      "simulate", "all", "--seeds", "1..100000000", "--json",
    ])
    var lines = process.lines.makeAsyncIterator()
    #expect(await lines.next() == #"{"event":"world","name":"message-stream"}"#)
    process.signal(SIGINT)
    let outcome = await CommandProcess.outcome(of: process)
    #expect(outcome.status == 1)
    let events = try outcome.output.map { try [String: Any].reading($0) }
    #expect(events.map { $0["event"] as? String } == ["summary"])
    #expect(events.last?["stopped"] as? Bool == true)
    // On a busy machine the run under way takes longer than the command waits for it.
    #expect(
      outcome.errors == [
        "holdfast-sim simulate all: message-stream: stopped before everything was played"
      ] || outcome.errors.last?.hasSuffix("the run under way did not end within 5s") == true)
  }

  @Test func `a signal ends the proofs of defects with the results so far`() async throws {
    let process = try SimulatorProcess.start(["simulate", "all", "--break", "all", "--jobs", "1"])
    var lines = process.lines.makeAsyncIterator()
    #expect(await lines.next() == "message-stream")
    process.signal(SIGINT)
    let outcome = await CommandProcess.outcome(of: process)
    #expect(outcome.status == 1)
    #expect(outcome.output.first?.hasPrefix("DEFECT ") == true)
    #expect(!outcome.output.contains("relay"))
  }

  @Test func `a second signal ends the command at once with the results so far`() async throws {
    try await EndlessPlan.with { file in
      var outcome: CommandProcess.Outcome
      var wait = 0
      // If the signal arrives before the command has installed its handler and started the run, it
      // ends the command without any output.
      repeat {
        let process = try SimulatorProcess.start([
          "simulate", "held-socket", "--plan", file, "--json", "--run-limit", "30m",
        ])
        wait += 1000
        for _ in 0..<wait { await Task.yield() }
        process.signal(SIGINT)
        process.signal(SIGTERM)
        outcome = await CommandProcess.outcome(of: process)
      } while outcome.output.isEmpty
      #expect(outcome.status == 1)
      #expect(try summaries(outcome) == ["0 runs, stopped"])
      #expect(
        outcome.errors == [
          "holdfast-sim simulate held-socket: ended immediately by a second signal"
        ])
    }
  }

  @Test func `a run that takes too long ends the command with the results so far`() async throws {
    try await EndlessPlan.with { file in
      let arguments = ["simulate", "held-socket", "--plan", file, "--run-limit", "300ms"]
      let outcome = try await SimulatorProcess.run(arguments + ["--json"])
      #expect(outcome.status == 1)
      #expect(try summaries(outcome) == ["0 runs, stopped"])
      let table = try await SimulatorProcess.run(arguments)
      #expect(table.output.contains { $0.hasPrefix("runs ") && $0.hasSuffix(" 0") })
    }
  }

  /// Returns the number of runs and whether the command was stopped, according to its output.
  private func summaries(_ outcome: CommandProcess.Outcome) throws -> [String] {
    try outcome.output.map {
      let event = try [String: Any].reading($0)
      let isStopped = event["stopped"] as? Bool == true
      return "\(event["runs"] ?? "no") runs, \(isStopped ? "stopped" : "complete")"
    }
  }

  @Test(arguments: ["--json", "--trace"])
  func `a finding sets the exit status also if nothing reads the output`(option: String)
    async throws
  {
    let call = "simulate held-socket --break closesAlive --seeds 1 \(option)"
    let shell = try LabProcess([
      "/bin/sh", "-c", "{ '\(SimulatorProcess.path)' \(call); echo $? >&2; } | true",
    ])
    #expect(await CommandProcess.outcome(of: shell).errors.last == "1")
  }

  @Test func `findings before the run to shrink are reported and counted`() async throws {
    try await CommandProcess.scratch { directory in
      let call = ["simulate", "bottle", "--break", "confusesRecords"]
      // The first of these seeds fails in a different way than the defect is supposed to cause.
      let shrunk = try await SimulatorProcess.run(
        call + ["--seeds", "7..100", "--shrink", "--corpus", directory + "/plan.json", "--json"])
      let sum = try #require(shrunk.output.first { $0.contains(#""event":"summary""#) })
      let runs = try #require(try [String: Any].reading(sum)["runs"] as? Int)
      #expect(runs > 1)
      let plain = try await SimulatorProcess.run(call + ["--seeds", "7..\(runs + 6)", "--json"])
      let failures = plain.output.dropLast()
      #expect(failures.count > 1)
      #expect(Array(shrunk.output.prefix(failures.count)) == Array(failures))
      let sums = try [sum, plain.output.last].map {
        let event = try [String: Any].reading($0)
        return "\(event["runs"] ?? ""), \(event["failed"] ?? ""), \(event["digest"] ?? "")"
      }
      #expect(sums[0] == sums[1])
      let last = try [String: Any].reading(shrunk.output.last)
      #expect(last["event"] as? String == "shrunk")
    }
  }

  @Test func `all runs are counted, with or without a plan to shrink`() async throws {
    try await CommandProcess.scratch { directory in
      let call = ["simulate", "message-stream", "--seeds", "1..2", "--jobs", "3", "--json"]
      let shrink = ["--shrink", "--corpus", directory + "/plan.json"]
      var sums: [String] = []
      for arguments in [call, call + shrink] {
        let outcome = try await SimulatorProcess.run(arguments)
        #expect(outcome.status == 0)
        let sum = try #require(outcome.output.last)
        sums.append(sum.replacing(/"(wallSeconds|simulatedSecondsPerSecond)":[^,}]*/, with: ""))
      }
      #expect(sums[0].contains(#""runs":4,"#))
      #expect(sums[0] == sums[1])
    }
  }

  @Test func `an unwritable file is refused before anything is played`() async throws {
    let file = "/dev/null/plan.json"
    let cause = "\(file) cannot be written: "
    let arguments = ["--break", "closesAlive", "--seeds", "1", "--shrink", "--corpus", file]
    let outcome = try await SimulatorProcess.run(["simulate", "held-socket"] + arguments)
    #expect(outcome.status == 1)
    #expect(outcome.output == [])
    #expect(outcome.errors.first?.hasPrefix("holdfast-sim simulate held-socket: \(cause)") == true)
  }

  @Test func `the numbers of a summary have different names`() async throws {
    let outcome = try await SimulatorProcess.run(
      "simulate", "all", "--seeds", "1", "--json")
    let sums = outcome.output.filter { $0.contains(#""event":"summary""#) }
    #expect(outcome.status == 0)
    #expect(sums.count == 6)
    for sum in sums {
      let own = sum.replacing(/"faults":{[^}]*}/, with: #""faults":0"#)
      let names = own.matches(of: /"(\w+)":/).map { String($0.1) }
      #expect(names.count > 10)
      #expect(Set(names).count == names.count, "\(names)")
    }
    let table = try await SimulatorProcess.run("simulate", "session", "--seeds", "1")
    #expect(table.output.count { $0.hasPrefix("runs ") } == 1)
  }

  @Test func `all worlds accept the defect names that the help lists`() async throws {
    let help = try await SimulatorProcess.run("simulate", "all", "--help")
    #expect(help.output.joined(separator: " ").contains("NAME is all."))
    let none = try await SimulatorProcess.run("simulate", "all", "--break", "none")
    let line = #"--break cannot be "none"; it must be all"#
    #expect(none == .failure(2, "holdfast-sim simulate all: \(line)"))
  }

  @Test func `the help names the last object of the output`() async throws {
    let help = try await SimulatorProcess.run("simulate", "held-socket", "--help")
    let page = help.output.joined(separator: " ").split(separator: " ").joined(separator: " ")
    for text in [
      #"and event "summary" follows"#, #"A trace is events "line" and "end""#,
      #"then event "shrunk""#,
    ] {
      #expect(page.contains(text))
    }
    let trace = try await SimulatorProcess.run(
      "simulate", "held-socket", "--seeds", "1", "--trace", "--json")
    #expect(try [String: Any].reading(trace.output.last)["event"] as? String == "end")
  }
}
