import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastSimulator
import HoldfastWorlds
import Synchronization
import Testing

/// A custom model that ignores every tenth frame.
private struct Deaf: WrappingClient {
  private(set) var model: StreamModel
  private var frames = 0

  init(settings: StreamSettings, seed: UInt64) {
    model = StreamModel(settings: settings, seed: seed)
  }

  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] {
    if case .frame = input {
      frames += 1
      if frames.isMultiple(of: 10) { return [] }
    }
    return model.handle(input, at: now)
  }

  mutating func tick(at now: Instant) -> [StreamModel.Effect] { model.tick(at: now) }
}

@Suite(.timeLimit(.minutes(60))) struct SimulationTests {
  @Test func `a custom model is played in the world and checked`() async throws {
    // Without positions, only a later message would reveal that a message is missing.
    let simulation = Simulation<StreamFeature>(servers: [.plain], preset: .lift)
    let failure = try #require(
      await simulation.with(Deaf.self).firstFailure(seeds: 1...50) { $0.kinds.contains(.lost) })
    let usual = play(simulation.draw(failure.seed, failure.server), as: StreamModel.self)
    #expect(!usual.kinds.contains(.lost))
  }

  @Test func `an app's own policy decides in the world of held sockets`() async throws {
    let waits = "20s*1 max 20s +-0.25 min 1s xunlimited"
    let patient = try LinkPolicy.socket.setting([
      ("retry.first", waits), ("retry.reconnect", waits),
    ])
    let usual = await Simulation.sockets().run(seeds: 1...20)
    let rare = await Simulation.sockets(policy: patient).run(seeds: 1...20)
    #expect(usual.isClean && rare.isClean, "\(usual) \(rare)")
    #expect(rare.counts.attempts < usual.counts.attempts)
  }

  @Test func `a report names the seed and the sentence of each finding`() async throws {
    var simulation = Simulation.sockets()
    simulation.setup.defect = .sendsTwice
    let report = await simulation.run(seeds: 1...10)
    let outcome = try #require(report.failures.first)
    let finding = try #require(outcome.findings.first)
    #expect("\(report)".hasPrefix("10 runs, \(report.failed) with findings\nseed "))
    let line = "\nseed \(outcome.seed): \(finding.kind.rawValue) at "
    #expect("\(report)".contains(line))
    #expect("\(report)".contains(finding.detail))
  }

  @Test func `the summary does not depend on the number of jobs`() async {
    let one = await Simulation<StreamFeature>(jobs: 1).run(seeds: 1...2)
    let three = await Simulation<StreamFeature>(jobs: 3).run(seeds: 1...2)
    #expect(one == three)
    #expect(one.counts.runs == 4)
  }

  @Test func `the first failure is the one with the lowest seed`() async {
    for jobs in [1, 4] {
      let failure = await Simulation<StreamFeature>(jobs: jobs).firstFailure(
        seeds: 1...30
      ) { $0.seed >= 3 }
      #expect(failure?.seed == 3)
      #expect(failure?.server == ServerKind.allCases.first)
    }
  }

  @Test func `a cancelled task ends with the results so far`() async {
    let (played, sink) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      await Simulation<StreamFeature>().run(seeds: 1...(.max)) { _ in sink.yield() }
    }
    for await _ in played { break }
    task.cancel()
    #expect(await task.value.counts.runs > 0)
  }
}

/// Tests of seeds up to the largest number.
@Suite(.timeLimit(.minutes(60))) struct SeedRangeTests {
  private static let last = UInt64.max

  @Test func `the largest seeds are played`() async {
    let summary = await Simulation<StreamFeature>(servers: [.positions])
      .run(seeds: Self.last - 1...Self.last)
    #expect(summary.counts.runs == 2)
    #expect(summary.isClean)
  }

  @Test func `the number of runs saturates instead of overflowing`() {
    let simulation = Simulation<StreamFeature>()
    #expect(simulation.runs(of: 0...Self.last) == Self.last)
    #expect(simulation.runs(of: 1...Self.last) == Self.last)
    #expect(simulation.runs(of: 1...(Self.last / 2)) == Self.last - 1)
    #expect(simulation.runs(of: Self.last...Self.last) == 2)
  }

  @Test func `a defect's proof that starts at the largest seed continues at seed 0`() async {
    let found = await Simulation<StreamFeature>()
      .proof(of: .showsBeforeStored, against: .plain, from: Self.last)
    #expect(found.map { $0.seed == Self.last || $0.seed < 20 } == true)
  }
}

/// A client that never returns from its first step.
private struct Spinner: IdleClient {
  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] {
    while true {}
  }
}

@Suite(.timeLimit(.minutes(60))) struct RunWatchdogTests {
  @Test func `a machine that spins in one step on every thread is reported with its seed`()
    async throws
  {
    let result = await #expect(
      processExitsWith: .exitCode(3), observing: [\.standardErrorContent]
    ) {
      let watchdog = RunWatchdog(limit: .milliseconds(300)) { run, excess in
        FileHandle.standardError.write(Data("\(run): \(excess)\n".utf8))
        exit(3)
      }
      var simulation = Simulation<StreamFeature>(servers: [.plain])
      simulation.player = { plan, setup in
        watchdog.watching("seed \(plan.seed)") { play(plan, setup, as: Spinner.self) }
      }
      _ = await simulation.run(seeds: 7...1000)
    }
    let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    // The number of seeds that spin equals the number of threads. Any of them may be found first.
    let found = errors.firstMatch(of: /^seed \d+: tooLong\(0\.3 seconds\)\n/)
    #expect(found != nil)
  }

  @Test func `a run that continues after a stop request is reported`() async throws {
    await #expect(processExitsWith: .exitCode(4)) {
      let watchdog = RunWatchdog(limit: .seconds(3600), grace: .milliseconds(100)) { run, excess in
        exit(run == "a run" && excess == .notStopped(after: .milliseconds(100)) ? 4 : 5)
      }
      watchdog.stop()
      watchdog.watching("a run") { while true {} }
    }
  }

  @Test func `a run that has ended is not reported`() async {
    let (reports, sink) = AsyncStream.makeStream(of: String.self)
    let isOver = Atomic(false)
    // A report during the first run, which may be interrupted for long, is right.
    let watchdog = RunWatchdog(limit: .milliseconds(1)) { run, _ in
      if isOver.load(ordering: .acquiring) { sink.yield(run) }
    }
    #expect(watchdog.watching("first") { 1 } == 1)
    isOver.store(true, ordering: .releasing)
    let spins = Task.detached {
      watchdog.watching("second") { while !Task.isCancelled {} }
    }
    for await run in reports {
      #expect(run == "second")
      break
    }
    spins.cancel()
    await spins.value
  }
}
