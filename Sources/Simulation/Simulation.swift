import Foundation
@_exported public import LinkSimulator
import Synchronization

/// Puts a feature into seeded worlds.
///
/// ```swift
/// let summary = await Simulation<StreamFeature>(preset: .train).run(seeds: 1...1000)
/// #expect(summary.isClean)
/// ```
///
/// `player` replaces the model under test by one of your own.
public struct Simulation<Feature: SimulatedFeature>: Sendable {
  /// Plays one plan.
  public typealias Player =
    @Sendable (WorldPlan<Feature>, RunSetup<Feature>) ->
    RunOutcome<Feature>

  /// The servers that each seed is played against.
  public var servers: [Feature.Server]
  /// Draws what happens in a run from its seed.
  public var draw: @Sendable (UInt64, Feature.Server) -> WorldPlan<Feature>
  /// Policy and defect.
  public var setup: RunSetup<Feature>
  /// Runs that are played at the same time.
  public var jobs: Int
  /// Plays one plan; `Feature.play` by default.
  public var player: Player = { Feature.play($0, $1) }

  /// Any kind of day against every kind of server, on all cores, by default.
  public init(
    servers: [Feature.Server] = Array(Feature.Server.allCases), preset: DayPreset = .swarm,
    setup: RunSetup<Feature> = RunSetup(), jobs: Int = SimulationCores.count
  ) {
    self.init(servers: servers, setup: setup, jobs: jobs) {
      .drawn(preset, seed: $0, server: $1)
    }
  }

  /// Days of your own.
  public init(
    servers: [Feature.Server] = Array(Feature.Server.allCases),
    setup: RunSetup<Feature> = RunSetup(), jobs: Int = SimulationCores.count,
    draw: @escaping @Sendable (UInt64, Feature.Server) -> WorldPlan<Feature>
  ) {
    self.servers = servers
    self.setup = setup
    self.jobs = max(1, jobs)
    self.draw = draw
  }

  /// How many runs seeds make, saturated.
  public func runs(of seeds: ClosedRange<UInt64>) -> UInt64 {
    SeedQueue.runs(seeds, servers.count)
  }

  /// Plays each seed against each server before all checkers.
  ///
  /// The summary does not depend on the number of jobs. A cancelled task ends after the runs that
  /// are under way, with the summary of what was played.
  ///
  /// - Parameter each: Hears of each run as it ends, from any thread.
  public func run(
    seeds: ClosedRange<UInt64>,
    each: @escaping @Sendable (RunOutcome<Feature>) -> Void = { _ in }
  ) async -> RunSummary<Feature> {
    let queue = SeedQueue(seeds, servers.count)
    return await withTaskGroup(of: RunSummary<Feature>.self) { group in
      for _ in 0..<jobs {
        group.addTask {
          var summary = RunSummary<Feature>()
          while !Task.isCancelled, let next = queue.next() {
            let outcome = self.play(next)
            summary.add(outcome)
            each(outcome)
            // A pool of threads that is full of runs hears of nothing else.
            await Task.yield()
          }
          return summary
        }
      }
      return await group.reduce(into: RunSummary()) { $0.add($1) }
    }
  }

  /// Plays seeds until one fails; `nil` when none does, or when the task was cancelled before.
  ///
  /// Which one that is does not depend on the number of jobs.
  ///
  /// - Parameter fails: Which outcome counts; any finding by default.
  public func firstFailure(
    seeds: ClosedRange<UInt64>,
    where fails: @escaping @Sendable (RunOutcome<Feature>) -> Bool = { !$0.findings.isEmpty }
  ) async -> RunOutcome<Feature>? {
    let queue = SeedQueue(seeds, servers.count)
    return await withTaskGroup(of: (index: UInt64, outcome: RunOutcome<Feature>)?.self) { group in
      for _ in 0..<jobs {
        group.addTask {
          while !Task.isCancelled, let next = queue.next() {
            let outcome = self.play(next)
            await Task.yield()
            guard fails(outcome) else { continue }
            queue.end(before: next.index)
            return (next.index, outcome)
          }
          return nil
        }
      }
      var first: (index: UInt64, outcome: RunOutcome<Feature>)?
      for await found in group {
        guard let found else { continue }
        if found.index < first?.index ?? .max { first = found }
      }
      return first?.outcome
    }
  }

  /// The first run from a seed on in which a defect breaks what it should, and which is clean
  /// without it; `nil` when the defect is not caught within its number of seeds.
  public func proof(
    of defect: Feature.Defect, against server: Feature.Server, from first: UInt64
  ) async -> RunOutcome<Feature>? {
    var simulation = self
    simulation.servers = [server]
    simulation.setup.defect = defect
    let (policy, draw, player) = (setup.policy, draw, player)
    // Near the end of the range there are fewer seeds: the search goes on at its beginning.
    let count = UInt64(max(1, defect.seeds))
    for seeds in SeedQueue.ranges(from: first, count: count) {
      let found = await simulation.firstFailure(seeds: seeds) { outcome in
        guard outcome.kinds.contains(where: defect.kinds.contains) else { return false }
        let control = player(draw(outcome.seed, outcome.server), RunSetup(policy: policy))
        return control.kinds.allSatisfy { !defect.kinds.contains($0) }
      }
      if let found { return found }
    }
    return nil
  }

  private func play(_ next: SeedQueue.Next) -> RunOutcome<Feature> {
    player(draw(next.seed, servers[next.server]), setup)
  }
}

/// The machine that simulations run on.
public enum SimulationCores {
  /// How many runs it can play at the same time.
  public static var count: Int { ProcessInfo.processInfo.activeProcessorCount }
}

/// Hands runs out, each once, in order.
final class SeedQueue: Sendable {
  /// One run: its place in the order, its seed, and the index of its server.
  typealias Next = (index: UInt64, seed: UInt64, server: Int)

  private let first: UInt64
  private let servers: UInt64
  private let state: Mutex<(next: UInt64, end: UInt64)>

  init(_ seeds: ClosedRange<UInt64>, _ servers: Int) {
    first = seeds.lowerBound
    self.servers = UInt64(max(1, servers))
    state = Mutex((0, Self.runs(seeds, servers)))
  }

  /// How many runs there are, saturated.
  static func runs(_ seeds: ClosedRange<UInt64>, _ servers: Int) -> UInt64 {
    let (seedCount, isAll) = (seeds.upperBound - seeds.lowerBound).addingReportingOverflow(1)
    let (runs, isMore) = seedCount.multipliedReportingOverflow(by: UInt64(max(1, servers)))
    return isAll || isMore ? .max : runs
  }

  /// So many seeds from one on; past the largest seed they go on from 0.
  static func ranges(from first: UInt64, count: UInt64) -> [ClosedRange<UInt64>] {
    let (last, isOver) = first.addingReportingOverflow(count - 1)
    return isOver ? [first...UInt64.max, 0...last] : [first...last]
  }

  func next() -> Next? {
    let index = state.withLock { state -> UInt64? in
      guard state.next < state.end else { return nil }
      defer { state.next += 1 }
      return state.next
    }
    guard let index else { return nil }
    return (index, first + index / servers, Int(index % servers))
  }

  /// What comes later is not needed any more.
  func end(before index: UInt64) {
    state.withLock { $0.end = min($0.end, index) }
  }
}

extension Simulation<StreamFeature> {
  /// Plays with a model of your own in place of `StreamModel`.
  public func with<Client: StreamClient>(_ client: Client.Type) -> Simulation {
    var changed = self
    changed.player = { StreamFeature.play($0, $1, as: Client.self) }
    return changed
  }
}
