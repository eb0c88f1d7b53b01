import CommandKit
import LinkCore
import LinkJSON
import LinkSimulator
import LinkWire

/// `holdfast simulate relay`: phones, a backend and assistants, before all judges.
enum SimulateRelayCommand {
  private static let seeds = Parameter.option(
    "seeds", .seeds, default: 1...1000, "the seeds to play")
  private static let defect = Parameter.optional(
    "break", Format<Defects<RelayBreak>>.defects(), usual: "none",
    "switch a deliberate defect on; all proves that each one is caught")
  /// Runs that are told of one by one.
  private static let mostFailures = 20

  static var command: Command {
    Command(
      "relay", "play phones, a relay and assistants, before all judges",
      details: [
        """
        Each seed draws an hour and more of trouble for two phones, a backend and three \
        assistants: the real phone's rules and the real backend's in a world without a clock. \
        Every question must have exactly one answer or one honest error in its time, and no \
        answer may reach another than its asker. Then calm begins, and everybody must get an answer.
        """,
        """
        With --json each failure is one object (event "failure", seed, findings), each proof of \
        --break all another (event "break"), and the last line is event "summary".
        """,
      ],
      examples: [
        .init("holdfast simulate relay --seeds 1..10000", "10,000 seeds"),
        .init("holdfast simulate relay --seeds 7 --trace", "what happened in seed 7"),
        .init("holdfast simulate relay --break all", "proves that the judges can see"),
      ],
      takes: seeds, defect, SimulateParameters.jobs, SimulateParameters.trace, Shared.json,
      action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    try await SimulateCommands.untilStopped { () async throws(CommandFailure) in
      try await work(call)
    }
  }

  private static func work(_ call: Invocation) async throws(CommandFailure) {
    let defect: RelayBreak?
    switch call[Self.defect] {
    case .all: return try proveAll(call)
    case .one(let one): defect = one
    case nil: defect = nil
    }
    if call[SimulateParameters.trace] {
      guard call[seeds].count == 1 else {
        throw CommandFailure(.usage, "--trace is about one run", remedy: "add --seeds N")
      }
      return try trace(call[seeds].lowerBound, defect, call)
    }
    let clock = ContinuousClock()
    let start = clock.now
    let sum = await play(call[seeds], defect, jobs: call[SimulateParameters.jobs])
    report(sum, elapsed: start.duration(to: clock.now), call)
    try SimulateCommands.conclude(sum.found)
    if Task.isCancelled { throw SimulateCommands.stopped }
  }

  /// What came of many runs.
  private struct Sum: Sendable {
    var runs = 0
    var counts = RelayRun.Counts()
    var found = 0
    var digest: UInt64 = 0
    var failures: [RelayRun] = []

    mutating func add(_ run: RelayRun) {
      runs += 1
      counts.add(run.counts)
      found += run.findings.count
      digest ^= run.digest
      if !run.findings.isEmpty { failures.append(run) }
    }

    mutating func add(_ other: Sum) {
      runs += other.runs
      counts.add(other.counts)
      found += other.found
      digest ^= other.digest
      failures = (failures + other.failures).sorted { $0.seed < $1.seed }
    }
  }

  private static func play(
    _ seeds: ClosedRange<UInt64>, _ defect: RelayBreak?, jobs: Int
  ) async -> Sum {
    await withTaskGroup(of: Sum.self) { group in
      for job in 0..<UInt64(jobs) where job < UInt64(seeds.count) {
        group.addTask {
          var sum = Sum()
          for seed in stride(from: seeds.lowerBound + job, through: seeds.upperBound, by: jobs) {
            guard !Task.isCancelled else { break }
            sum.add(RelayRun.play(.drawn(seed: seed), defect))
            // A pool of threads that is full of runs hears of nothing else.
            await Task.yield()
          }
          return sum
        }
      }
      return await group.reduce(into: Sum()) { $0.add($1) }
    }
  }

  private static func trace(
    _ seed: UInt64, _ defect: RelayBreak?, _ call: Invocation
  ) throws(CommandFailure) {
    let console = call.console
    let run = RelayRun.play(.drawn(seed: seed), defect) { at, text in
      tell(at, text, console, isJSON: call[Shared.json])
    }
    for finding in run.findings {
      let text = "FOUND \(finding.kind.rawValue): \(finding.detail)"
      tell(finding.at, text, console, isJSON: call[Shared.json])
    }
    try SimulateCommands.conclude(run.findings.count)
  }

  private static func tell(_ at: Instant, _ text: String, _ console: Console, isJSON: Bool) {
    let milliseconds = at.nanoseconds / 1_000_000
    guard isJSON else {
      let fraction = String(String(1000 + milliseconds % 1000).dropFirst())
      return console.line("\(milliseconds / 1000).\(fraction) s  \(text.printable)")
    }
    console.object { writer in
      writer.key("event")
      writer.string("line")
      writer.key("at")
      writer.double(Double(milliseconds) / 1000)
      writer.key("what")
      writer.string(text)
    }
  }

  /// `--break all`: each defect must be caught, where the same run without it is clean.
  private static func proveAll(_ call: Invocation) throws(CommandFailure) {
    var table = Table("DEFECT", "CAUGHT AS", "SEED", "ALLOWED")
    var missed: [String] = []
    for defect in RelayBreak.allCases {
      let caught = defect.proof(from: call[seeds].lowerBound)
      if caught == nil { missed.append(defect.rawValue) }
      let kinds = Set(caught?.findings.map(\.kind.rawValue) ?? []).sorted()
      table.row(
        defect.rawValue, caught == nil ? "not caught" : kinds.joined(separator: ", "),
        caught.map { "\($0.seed)" } ?? "-", "\(defect.seeds) seeds")
      guard call[Shared.json] else { continue }
      call.console.object { writer in
        writer.key("event")
        writer.string("break")
        writer.key("name")
        writer.string(defect.rawValue)
        writer.key("caught")
        writer.bool(caught != nil)
      }
    }
    if !call[Shared.json] {
      for line in table.lines(call.console.style) { call.console.line(line) }
    }
    guard missed.isEmpty else {
      throw CommandFailure(.failed, "not caught: " + missed.joined(separator: ", "))
    }
  }

  private static func report(_ sum: Sum, elapsed: Duration, _ call: Invocation) {
    let counts = sum.counts
    let numbers = [
      ("runs", sum.runs), ("failed", sum.failures.count),
      ("simulatedHours", Int(counts.simulated / .seconds(3600))),
      ("questions", counts.questions), ("answered", counts.answered),
      ("refused", counts.refused), ("attempts", counts.attempts), ("pushes", counts.pushes),
      ("pulls", counts.pulls), ("actions", counts.actions), ("found", sum.found),
    ]
    let wall = elapsed / .seconds(1)
    guard !call[Shared.json] else { return write(sum, numbers, wall, call.console) }
    var table = Table("IN ALL", "")
    for (name, number) in numbers { table.row(name, SimulateFormat.grouped(number)) }
    table.row("wall seconds", SimulateFormat.short(wall))
    table.row("digest", String(sum.digest, radix: 16))
    for line in table.lines(call.console.style) { call.console.line(line) }
    for run in sum.failures.prefix(mostFailures) {
      call.console.line(call.console.style.alarm("seed \(run.seed):"))
      for finding in run.findings.prefix(3) {
        call.console.line("  \(finding.kind.rawValue): \(finding.detail.printable)")
      }
    }
  }

  private static func write(
    _ sum: Sum, _ numbers: [(String, Int)], _ wall: Double, _ console: Console
  ) {
    for run in sum.failures.prefix(mostFailures) {
      console.object { writer in
        writer.key("event")
        writer.string("failure")
        writer.key("seed")
        writer.int(run.seed)
        writer.key("findings")
        writer.beginArray()
        for finding in run.findings { writer.string("\(finding.kind.rawValue): \(finding.detail)") }
        writer.endArray()
      }
    }
    console.object { writer in
      writer.key("event")
      writer.string("summary")
      for (name, number) in numbers {
        writer.key(name)
        writer.int(number)
      }
      writer.key("digest")
      writer.string(String(sum.digest, radix: 16))
      writer.key("wallSeconds")
      writer.double(wall)
    }
  }
}
