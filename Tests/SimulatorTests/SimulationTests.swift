import HoldfastTestKit
import LinkCore
import LinkSimulator
import MessageStream
import Testing

/// A model of one's own: ours, except that it does not hear every tenth frame.
private struct Deaf: StreamClient {
  private var model: StreamModel
  private var frames = 0

  init(settings: StreamSettings, seed: UInt64) {
    model = StreamModel(settings: settings, seed: seed)
  }

  var status: LinkStatus { model.status }
  var currentAttempt: AttemptID? { model.currentAttempt }
  var isWhole: Bool { model.isWhole }
  var backlog: Backlog { model.backlog }
  var deadline: Instant? { model.deadline }

  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] {
    if case .frame = input {
      frames += 1
      if frames.isMultiple(of: 10) { return [] }
    }
    return model.handle(input, at: now)
  }

  mutating func tick(at now: Instant) -> [StreamModel.Effect] { model.tick(at: now) }
}

@Suite(.timeLimit(.minutes(2))) struct SimulationTests {
  @Test func `a model of one's own stands in the world and is judged`() async throws {
    // Without positions only a message that comes later would show that one is missing.
    let simulation = Simulation<StreamFeature>(servers: [.plain], preset: .lift)
    let failure = try #require(
      await simulation.with(Deaf.self).firstFailure(seeds: 1...50) { $0.kinds.contains(.lost) })
    let usual = play(simulation.draw(failure.seed, failure.server), as: StreamModel.self)
    #expect(!usual.kinds.contains(.lost))
  }

  @Test func `the summary does not depend on the number of jobs`() async {
    let one = await Simulation<StreamFeature>(jobs: 1).run(seeds: 1...5)
    let three = await Simulation<StreamFeature>(jobs: 3).run(seeds: 1...5)
    #expect(one == three)
    #expect(one.counts.runs == 10)
  }

  @Test func `the first failure is the one with the lowest seed`() async {
    for jobs in [1, 4] {
      let failure = await Simulation<StreamFeature>(jobs: jobs).firstFailure(
        seeds: 1...30
      ) { $0.seed >= 7 }
      #expect(failure?.seed == 7)
      #expect(failure?.server == ServerKind.allCases.first)
    }
  }

  @Test func `a cancelled task ends with what was played`() async {
    let task = Task { await Simulation<StreamFeature>().run(seeds: 1...(.max)) }
    task.cancel()
    #expect(await task.value.counts.runs < 1000)
  }
}

/// Seeds up to the largest number.
@Suite(.timeLimit(.minutes(2))) struct SeedRangeTests {
  private static let last = UInt64.max

  @Test func `the last seeds are played`() async {
    let summary = await Simulation<StreamFeature>(servers: [.positions])
      .run(seeds: Self.last - 1...Self.last)
    #expect(summary.counts.runs == 2)
    #expect(summary.isClean)
  }

  @Test func `the number of runs is saturated`() {
    let simulation = Simulation<StreamFeature>()
    #expect(simulation.runs(of: 0...Self.last) == Self.last)
    #expect(simulation.runs(of: 1...Self.last) == Self.last)
    #expect(simulation.runs(of: 1...(Self.last / 2)) == Self.last - 1)
    #expect(simulation.runs(of: Self.last...Self.last) == 2)
  }

  @Test func `a defect is proven from the last seed on, past which seeds begin at 0`() async {
    let found = await Simulation<StreamFeature>()
      .proof(of: .showsBeforeStored, against: .plain, from: Self.last)
    #expect(found.map { $0.seed == Self.last || $0.seed < 20 } == true)
  }
}
