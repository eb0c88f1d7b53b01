import Foundation
@_exported public import HoldfastBottleChecks
@_exported public import HoldfastHeldChecks
@_exported public import HoldfastLinkChecks
@_exported public import HoldfastMessageChecks
@_exported public import HoldfastRelayChecks
@_exported public import HoldfastSessionChecks
@_exported public import HoldfastSyncChecks
@_exported public import HoldfastWorlds
import Synchronization

@_exported public import struct HoldfastCore.LinkPolicy
@_exported public import struct HoldfastCore.PolicyError

/// A simulation that runs a feature in seeded worlds.
///
/// The world of an app's own policy:
///
/// ```swift
/// let policy = try LinkPolicy.socket.setting([("liveness.ping", "1m")])
/// let report = await Simulation.sockets(policy: policy).run(seeds: 1...200)
/// #expect(report.isClean, "\(report)")
/// ```
///
/// Another feature, such as `Simulation<StreamFeature>`, takes its policy in `setup`. Set `player`
/// to test another model.
public struct Simulation<Feature: SimulatedFeature>: Sendable {
  /// A function that plays one plan.
  public typealias Player =
    @Sendable (WorldPlan<Feature>, RunSetup<Feature>) ->
    RunOutcome<Feature>

  /// The servers against which each seed is played.
  public var servers: [Feature.Server]
  /// The function that draws a plan from a seed.
  public var draw: @Sendable (UInt64, Feature.Server) -> WorldPlan<Feature>
  /// The policy, and the deliberate defect if one is enabled.
  public var setup: RunSetup<Feature>
  /// The maximum number of runs that are played in parallel.
  public var jobs: Int
  /// The function that plays one plan. The default is `Feature.play`.
  public var player: Player = { Feature.play($0, $1) }

  /// Creates a simulation of plans that are drawn from a preset.
  ///
  /// By default, the simulation covers all kinds of days and servers, and uses all processor cores.
  public init(
    servers: [Feature.Server] = Array(Feature.Server.allCases), preset: DayPreset = .swarm,
    setup: RunSetup<Feature> = RunSetup(), jobs: Int = SimulationCores.count
  ) {
    self.init(servers: servers, setup: setup, jobs: jobs) {
      .drawn(preset, seed: $0, server: $1)
    }
  }

  /// Creates a simulation of plans that `draw` returns.
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

  /// Returns the number of runs for a range of seeds, limited to the largest representable number.
  public func runs(of seeds: ClosedRange<UInt64>) -> UInt64 {
    SeedQueue.runs(seeds, servers.count)
  }

  /// Plays each seed against each server and applies all checkers.
  ///
  /// The summary does not depend on the number of jobs. If the task is cancelled, the call returns
  /// after the current runs, with a summary of the runs played so far.
  ///
  /// - Parameter each: A function that is called for each run when it ends, on any thread.
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
            // Without yielding, runs that occupy all threads of the pool would delay other tasks.
            await Task.yield()
          }
          return summary
        }
      }
      return await group.reduce(into: RunSummary()) { $0.add($1) }
    }
  }

  /// Plays seeds until a run fails. Returns `nil` if no run fails or the task is cancelled first.
  ///
  /// The result does not depend on the number of jobs.
  ///
  /// - Parameter fails: A function that returns whether a run failed. By default, a run with any
  ///   finding has failed.
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

  /// Returns the first run in which the defect breaks its promises and that is clean without the
  /// defect.
  ///
  /// The search begins at the seed `first`. Returns `nil` if the defect is not caught within its
  /// number of seeds.
  public func proof(
    of defect: Feature.Defect, against server: Feature.Server, from first: UInt64
  ) async -> RunOutcome<Feature>? {
    var simulation = self
    simulation.servers = [server]
    simulation.setup.defect = defect
    let (policy, draw, player) = (setup.policy, draw, player)
    // If fewer seeds remain before the end of the range, the search continues at seed 0.
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

/// The processor cores of this machine.
public enum SimulationCores {
  /// The number of runs that can be played in parallel.
  public static var count: Int { ProcessInfo.processInfo.activeProcessorCount }
}

/// A queue that hands out each run once, in order.
final class SeedQueue: Sendable {
  /// A run's index in the order, its seed, and the index of its server.
  typealias Next = (index: UInt64, seed: UInt64, server: Int)

  private let first: UInt64
  private let servers: UInt64
  private let state: Mutex<(next: UInt64, end: UInt64)>

  init(_ seeds: ClosedRange<UInt64>, _ servers: Int) {
    first = seeds.lowerBound
    self.servers = UInt64(max(1, servers))
    state = Mutex((0, Self.runs(seeds, servers)))
  }

  /// Returns the number of runs, limited to the largest representable number.
  static func runs(_ seeds: ClosedRange<UInt64>, _ servers: Int) -> UInt64 {
    let (seedCount, isAll) = (seeds.upperBound - seeds.lowerBound).addingReportingOverflow(1)
    let (runs, isMore) = seedCount.multipliedReportingOverflow(by: UInt64(max(1, servers)))
    return isAll || isMore ? .max : runs
  }

  /// Returns `count` seeds that begin at `first`. After the largest seed, they continue from 0.
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

  /// Removes the runs from an index onward, because they are no longer needed.
  func end(before index: UInt64) {
    state.withLock { $0.end = min($0.end, index) }
  }
}

extension Simulation<HeldFeature> {
  /// Returns a simulation of held sockets that follow a policy.
  ///
  /// Each seed is at least an hour with faults, on one phone and with one kind of outbox. Checkers
  /// compare the socket with its promises and with the policy.
  ///
  /// - Parameters:
  ///   - policy: The policy of the socket. It is also the policy whose limits are checked.
  ///   - preset: The kind of faults that occur. The default is all kinds.
  public static func sockets(
    policy: LinkPolicy = .socket, preset: DayPreset = .swarm
  ) -> Simulation {
    Simulation(preset: preset, setup: RunSetup(policy: policy))
  }
}

extension Simulation<StreamFeature> {
  /// Returns a simulation that runs another model instead of `StreamModel`.
  public func with<Client: StreamClient>(_ client: Client.Type) -> Simulation {
    var changed = self
    changed.player = { StreamFeature.play($0, $1, as: Client.self) }
    return changed
  }
}
