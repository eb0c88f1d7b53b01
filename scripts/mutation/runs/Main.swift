import CMutants
import Foundation
import HoldfastCore
import HoldfastWorlds

/// Plays seeds of a world with one mutant, or reports for each seed which mutants would make a
/// difference.
///
///     mutant-runs reach WORLD FIRST LAST COUNT SEEN DIGESTS
///     MUTANT=N mutant-runs play WORLD DIGESTS <SEEDS
///     MUTANT=N mutant-runs time WORLD <SEEDS
///     mutant-runs list
@main
struct Main {
  /// The processor time that a seed may take, in seconds: more than 50 times that of the slowest.
  static let limit = 5

  static func main() {
    let words = CommandLine.arguments
    guard words.count > 2, let world = Worlds.all.first(where: { name(of: $0) == words[2] }) else {
      print("worlds: \(Worlds.all.map(name).joined(separator: " "))")
      exit(words.dropFirst() == ["list"] ? 0 : 2)
    }
    switch words[1] {
    case "reach": reach(world, Array(words.dropFirst(3)))
    case "play": play(world, digests: words[3])
    case "time": time(world)
    case _: exit(2)
    }
  }

  private static func name(of world: any SimulatedFeature.Type) -> String { world.name }

  /// Writes bitmaps of mutants: those evaluated once in a process, then those of each seed.
  private static func reach<Feature: SimulatedFeature>(_ world: Feature.Type, _ words: [String]) {
    guard let first = UInt64(words[0]), let last = UInt64(words[1]), let count = Int(words[2])
    else { exit(2) }
    mutants_watch()
    _ = outcomes(world, first)
    let warm = seen(count)
    mutants_watch()
    _ = outcomes(world, first)
    var maps = zip(warm, seen(count)).map { $0 & ~$1 }
    var lines = ""
    for seed in first...last {
      mutants_watch()
      let outcomes = outcomes(world, seed)
      maps += seen(count)
      lines += "\(seed) \(outcomes.map { String($0.digest) }.joined(separator: " "))\n"
      guard outcomes.allSatisfy(\.findings.isEmpty) else {
        print("seed \(seed) fails without a mutant: \(finding(outcomes))")
        exit(3)
      }
    }
    let files = words.suffix(2).map { URL(fileURLWithPath: $0) }
    do {
      try Data(lines.utf8).write(to: files[1])
      try Data(maps).write(to: files[0], options: .atomic)
    } catch {
      print("cannot write: \(error)")
      exit(2)
    }
  }

  /// Prints a line without buffering, so that it appears even if the process then traps.
  private static func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }

  private static func seen(_ count: Int) -> [UInt8] {
    var map = [UInt8](repeating: 0, count: (count + 7) / 8)
    for number in 0..<count where mutants_seen(Int32(number)) {
      map[number / 8] |= 1 << (number % 8)
    }
    return map
  }

  /// Plays seeds until one fails, and prints the number of seeds with a different run.
  private static func play<Feature: SimulatedFeature>(_ world: Feature.Type, digests file: String) {
    var digests: [Substring: Substring] = [:]
    let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      digests[parts[0]] = parts[1]
    }
    var differing = 0
    while let line = readLine(), let seed = UInt64(line) {
      say("seed \(seed)")
      var timer = itimerval()
      timer.it_value.tv_sec = limit
      setitimer(__itimer_which_t(2), &timer, nil)  // ITIMER_PROF: SIGPROF ends the process.
      let outcomes = outcomes(world, seed)
      let digest = outcomes.map { String($0.digest) }.joined(separator: " ")
      if digests[Substring(line)].map({ $0 != digest }) ?? true { differing += 1 }
      guard outcomes.allSatisfy(\.findings.isEmpty) else {
        say("found \(finding(outcomes))")
        say("differs \(differing)")
        exit(1)
      }
    }
    say("differs \(differing)")
  }

  /// Plays the plans of seeds until an invariant breaks. Prints when the mutant first made a
  /// difference, when the invariant broke, and which other finding came first, in milliseconds from
  /// the beginning of the run.
  private static func time<Feature: SimulatedFeature>(_ world: Feature.Type) {
    let number = Int32(ProcessInfo.processInfo.environment["MUTANT"] ?? "") ?? 0
    while let line = readLine(), let seed = UInt64(line) {
      say("seed \(seed)")
      for plan in plans(world, seed) {
        mutants_forget(number)
        var start: Instant?
        var cause: Instant?
        let outcome = Feature.play(plan) { _, standing in
          start = start ?? standing.now
          if cause == nil, mutants_seen(number) { cause = standing.now }
        }
        let findings = outcome.findings.sorted { $0.at < $1.at }
        guard let start, let cause,
          let broken = findings.first(where: { $0.kind == .brokenInvariant })
        else { continue }
        // The change of a server's step is observed with the next reported step.
        let first = min(cause, broken.at)
        say("server \(plan.server.rawValue)")
        say("cause \(start.duration(to: first) / .milliseconds(1))")
        say("broken \(start.duration(to: broken.at) / .milliseconds(1)) \(broken.detail)")
        if let other = findings.first(where: { $0.kind != .brokenInvariant }) {
          let at = start.duration(to: other.at) / .milliseconds(1)
          say("other \(at) \(other.kind.rawValue): \(other.detail)")
        }
        return
      }
    }
  }

  private static func finding<Feature>(_ outcomes: [RunOutcome<Feature>]) -> String {
    let finding = outcomes.lazy.flatMap(\.findings).first
    return finding.map { "\($0.kind.rawValue): \($0.detail)" } ?? ""
  }

  private static func plans<Feature: SimulatedFeature>(
    _ world: Feature.Type, _ seed: UInt64
  ) -> [WorldPlan<Feature>] {
    let others = Feature.presets.filter { $0 != .swarm }
    let preset =
      others.isEmpty || seed % 2 == 0 ? .swarm : others[Int(seed / 2 % UInt64(others.count))]
    return Feature.Server.allCases.map { .drawn(preset, seed: seed, server: $0) }
  }

  /// Plays a seed against every server, with the preset that `--preset all` selects for it.
  private static func outcomes<Feature: SimulatedFeature>(
    _ world: Feature.Type, _ seed: UInt64
  ) -> [RunOutcome<Feature>] {
    plans(world, seed).map { Feature.play($0) }
  }
}
