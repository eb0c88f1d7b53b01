@_spi(Script) import BackgroundSession
import Foundation
@_spi(Script) import HealthKit
import Holdfast
import HoldfastCore
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSocket
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of an app whose processes are killed while its uploads continue.
@Suite(.timeLimit(.minutes(60)))
struct SyncKillTests {
  private static let seeds = 240
  /// The number of seeds that are played at the same time. Most of their time is spent in waiting.
  private static let width = 8

  @Test func `kills between any two steps lose nothing and store nothing twice, for 240 seeds`()
    async throws
  {
    try await SyncServer.run(users: Self.seeds) { server in
      let http = try HoldfastPlatform.network()
      let runs = try await withThrowingTaskGroup(of: SyncSeed.Outcome.self) { group in
        for seed in 0..<Self.width {
          group.addTask { try await SyncSeed(seed, server, http).play() }
        }
        var (runs, next) = ([SyncSeed.Outcome](), Self.width)
        for try await run in group {
          runs.append(run)
          guard next < Self.seeds else { continue }
          group.addTask { [next] in try await SyncSeed(next, server, http).play() }
          next += 1
        }
        return runs
      }
      #expect(runs.count == Self.seeds)
      // On a busy machine, changes gather in fewer batches, so lives have fewer steps.
      let few = Self.seeds / 10
      #expect(runs.reduce(0) { $0 + $1.killsAtSteps } > few, "kills while work is under way")
      #expect(runs.reduce(0) { $0 + $1.adopted } > few, "uploads that outlive a process")
      let held = try await server.held()
      for run in runs {
        #expect(held[SyncServer.name(of: run.seed)] ?? [] == run.numbers, "seed \(run.seed)")
      }
    }
  }
}

/// The run of one seed: a few processes of the app, all but the last of which are killed.
private final class SyncSeed: Sendable {
  /// The result of the run of a seed.
  struct Outcome: Sendable {
    var seed: Int
    /// The numbers of the samples that the server must have, each once.
    var numbers: [Int] = []
    /// The number of processes that were killed while they had something to do.
    var killsAtSteps = 0
    /// The number of uploads that a process found when it was launched.
    var adopted = 0
  }

  private struct State {
    var outcome: Outcome
    var random: RandomSource
    var current: SyncProcess?
    /// Whether the next request of the daemon is the end of the process.
    var killsAtRequest = false
    var last = 0
    var kills = 0
    var losses = 0
  }

  private let name: String
  private let phone: SyncPhone
  private let limbo = SyncLimbo()
  private let state: Mutex<State>

  init(_ seed: Int, _ server: SyncServer, _ http: any HTTPClient) throws {
    name = "seed \(seed)"
    phone = try SyncPhone(server, user: seed, http: http)
    state = Mutex(State(outcome: Outcome(seed: seed), random: RandomSource(seed: UInt64(seed))))
  }

  private func number(_ range: ClosedRange<Int>) -> Int {
    state.withLock { Int.random(in: range, using: &$0.random) }
  }

  /// Plays the seed.
  func play() async throws -> Outcome {
    phone.send { [self] _, moment in send(moment) }
    var openings: [Task<Void, Never>] = []
    var processes: [SyncProcess] = []
    for _ in 0..<number(0...3) { add() }
    let lives = number(2...4)
    for life in 1...lives {
      let process = try await launch(isLast: life == lives)
      processes.append(process)
      openings.append(try await live(process))
    }
    try await check(processes)
    // What is left of the killed processes ends now.
    limbo.end()
    for opening in openings { await opening.value }
    return state.withLock { state in
      state.outcome.numbers = phone.numbers
      return state.outcome
    }
  }

  /// Lets something happen at a moment of an upload. Returns whether its response is lost.
  private func send(_ moment: SyncPhone.SendStep) -> Bool {
    state.withLock(\.current)?.pass()
    switch moment {
    case .request:
      let victim = state.withLock { state in
        defer { state.killsAtRequest = false }
        return state.killsAtRequest ? state.current : nil
      }
      victim?.kill()
      return false
    case .response:
      guard number(0...15) == 0 else { return false }
      state.withLock { $0.losses += 1 }
      return true
    }
  }

  private func add() {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    phone.add(number)
  }

  /// Launches a process, and plans what happens at its steps.
  private func launch(isLast: Bool) async throws -> SyncProcess {
    for _ in 0..<number(0...2) { add() }
    var plan: [(step: Int, act: @Sendable (AppProcess) -> Void)] = []
    for _ in 0..<number(0...2) { plan.append((number(1...40), { [self] _ in add() })) }
    if number(0...1) == 0 {
      let gone = number(1...4)
      plan.append((number(1...40), { [phone] _ in phone.delete(gone) }))
    }
    if !isLast {
      state.withLock { $0.kills += 1 }
      plan.append((number(1...45), { [phone] in phone.kill($0) }))
    }
    let killsAtRequest = !isLast && number(0...2) == 0
    phone.daemon.holdEnds(number(0...1) == 0)
    let found = phone.daemon.transfers(of: SyncPhone.session).count
    state.withLock { $0.outcome.adopted += found }
    let process = try await SyncProcess(phone, limbo, plan)
    state.withLock { ($0.current, $0.killsAtRequest) = (process, killsAtRequest) }
    return process
  }

  /// Lets a process run until it was killed or has nothing left to do. Returns a task that closes its
  /// sync at the end of the test.
  private func live(_ process: SyncProcess) async throws -> Task<Void, Never> {
    // The system launches the app for the ends of uploads, or the app runs for another reason.
    let hasEnds = phone.daemon.transfers(of: SyncPhone.session).contains(where: \.isOver)
    let isWoken = hasEnds && number(0...2) > 0
    let opening = Task { [limbo] in
      let sync: SampleSync
      do {
        sync = try await process.open()
      } catch {
        process.events.put(.failed(error))
        return
      }
      process.events.put(.opened(sync))
      // A killed process keeps its objects until the end of the test.
      await limbo.wait()
      await sync.close()
    }
    var sync: SampleSync?
    var isLastWait = false
    events: while true {
      switch try await process.events.next(within: .seconds(600)) {
      case .opened(let opened):
        sync = opened
        resumeEnds(process, opened, isWoken: isWoken)
        awaitQuiet(of: process, opened)
      case .failed(let error): throw error
      case .quiet:
        if isLastWait { break events }
        isLastWait = true
        process.passAll()
        if process.isAlive, let sync { awaitQuiet(of: process, sync) }
      case .killed:
        if !isLastWait { state.withLock { $0.outcome.killsAtSteps += 1 } }
        await process.release()
        break events
      }
    }
    return opening
  }

  /// Lets the daemon tell the ends that it held, and passes the wake for them before or after.
  private func resumeEnds(_ process: SyncProcess, _ sync: SampleSync, isWoken: Bool) {
    let isEarly = number(0...1) == 0
    if isWoken, isEarly { process.wake(sync) }
    phone.daemon.holdEnds(false)
    if isWoken { phone.daemon.finishEvents(of: SyncPhone.session) }
    if isWoken, !isEarly { process.wake(sync) }
  }

  private func awaitQuiet(of process: SyncProcess, _ sync: SampleSync) {
    Task { [phone] in
      await sync.waitUntil { $0.state == .done(quarantined: 0) && phone.isReceived }
      process.events.put(.quiet)
    }
  }

  private func check(_ processes: [SyncProcess]) async throws {
    guard let last = processes.last else { return }
    let daemon = phone.daemon
    let end = ContinuousClock.now.advanced(by: .seconds(600))
    while ContinuousClock.now < end,
      last.health.handlers.open > 0 || last.handlerCalls.contains(0)
        || !daemon.transfers(of: SyncPhone.session).isEmpty
    { await Task.yield() }
    #expect(last.health.handlers.open == 0 && last.handlerCalls.allSatisfy { $0 == 1 }, "\(name)")
    #expect(daemon.transfers(of: SyncPhone.session).isEmpty, "\(name)")
    #expect(try await last.queued() == [], "\(name)")
    for process in processes {
      #expect(process.handlerCalls.allSatisfy { $0 <= 1 }, "\(name)")
      #expect(process.health.misuses == [], "\(name)")
    }
    #expect(daemon.takeMisuses() == [], "\(name)")
    let (kills, losses) = state.withLock { ($0.kills, $0.losses) }
    #expect(phone.mostReceived <= 1 + kills + losses, "\(name)")
    #expect(try phone.filesWithSecret() == [], "\(name)")
    await last.release()
  }
}
