import Foundation
public import LinkSimulator
import Synchronization

/// Puts a client into seeded worlds: the one of this package, or a model of your own.
///
/// ```swift
/// let summary = await Simulation(preset: .train).run(MyModel.self, seeds: 1...1000)
/// #expect(summary.isClean)
/// ```
public struct Simulation: Sendable {
  /// The servers that each seed is played against.
  public var servers: [ServerKind]
  /// Draws what happens in a run from its seed.
  public var draw: @Sendable (UInt64, ServerKind) -> Plan
  /// Policy and defect.
  public var setup: Setup
  /// Runs that are played at the same time.
  public var jobs: Int

  /// Any kind of day against both kinds of server, on all cores, by default.
  public init(
    servers: [ServerKind] = ServerKind.allCases, preset: Preset = .swarm, setup: Setup = Setup(),
    jobs: Int = Simulation.cores
  ) {
    self.init(servers: servers, setup: setup, jobs: jobs) {
      .drawn(preset, seed: $0, server: $1)
    }
  }

  /// Days of your own.
  public init(
    servers: [ServerKind] = ServerKind.allCases, setup: Setup = Setup(),
    jobs: Int = Simulation.cores, draw: @escaping @Sendable (UInt64, ServerKind) -> Plan
  ) {
    self.servers = servers
    self.setup = setup
    self.jobs = max(1, jobs)
    self.draw = draw
  }

  /// How many runs this machine can play at the same time.
  public static var cores: Int { ProcessInfo.processInfo.activeProcessorCount }

  /// Plays each seed against each server before all judges.
  ///
  /// The summary does not depend on the number of jobs. A cancelled task ends after the runs that
  /// are under way, with the summary of what was played.
  ///
  /// - Parameter each: Hears of each run as it ends, from any thread.
  public func run<Client: StreamClient>(
    _ client: Client.Type, seeds: ClosedRange<UInt64>,
    each: @escaping @Sendable (Outcome) -> Void = { _ in }
  ) async -> Summary {
    let queue = Queue(seeds, servers)
    return await withTaskGroup(of: Summary.self) { group in
      for _ in 0..<jobs {
        group.addTask {
          var summary = Summary()
          while !Task.isCancelled, let next = queue.next() {
            let outcome = self.play(next.seed, next.server, as: client)
            summary.add(outcome)
            each(outcome)
            // A pool of threads that is full of runs hears of nothing else.
            await Task.yield()
          }
          return summary
        }
      }
      return await group.reduce(into: Summary()) { $0.add($1) }
    }
  }

  /// Plays seeds until one fails; `nil` when none does, or when the task was cancelled before.
  ///
  /// Which one that is does not depend on the number of jobs.
  ///
  /// - Parameter fails: Which outcome counts; any finding by default.
  public func firstFailure<Client: StreamClient>(
    of client: Client.Type, seeds: ClosedRange<UInt64>,
    where fails: @escaping @Sendable (Outcome) -> Bool = { !$0.findings.isEmpty }
  ) async -> Outcome? {
    let queue = Queue(seeds, servers)
    return await withTaskGroup(of: (index: UInt64, outcome: Outcome)?.self) { group in
      for _ in 0..<jobs {
        group.addTask {
          while !Task.isCancelled, let next = queue.next() {
            let outcome = self.play(next.seed, next.server, as: client)
            await Task.yield()
            guard fails(outcome) else { continue }
            queue.end(before: next.index)
            return (next.index, outcome)
          }
          return nil
        }
      }
      var first: (index: UInt64, outcome: Outcome)?
      for await found in group {
        guard let found else { continue }
        if found.index < first?.index ?? .max { first = found }
      }
      return first?.outcome
    }
  }

  private func play<Client: StreamClient>(
    _ seed: UInt64, _ server: ServerKind, as client: Client.Type
  ) -> Outcome {
    LinkSimulator.play(draw(seed, server), setup, as: client)
  }
}

/// Hands runs out, each once, in order.
private final class Queue: Sendable {
  private let first: UInt64
  private let servers: [ServerKind]
  private let state: Mutex<(next: UInt64, end: UInt64)>

  init(_ seeds: ClosedRange<UInt64>, _ servers: [ServerKind]) {
    first = seeds.lowerBound
    self.servers = servers
    let (seedCount, isAll) = (seeds.upperBound - seeds.lowerBound).addingReportingOverflow(1)
    let (runs, isMore) = seedCount.multipliedReportingOverflow(by: UInt64(servers.count))
    state = Mutex((0, isAll || isMore ? .max : runs))
  }

  func next() -> (index: UInt64, seed: UInt64, server: ServerKind)? {
    let index = state.withLock { state -> UInt64? in
      guard state.next < state.end else { return nil }
      defer { state.next += 1 }
      return state.next
    }
    guard let index else { return nil }
    let count = UInt64(servers.count)
    return (index, first + index / count, servers[Int(index % count)])
  }

  /// What comes later is not needed any more.
  func end(before index: UInt64) {
    state.withLock { $0.end = min($0.end, index) }
  }
}
