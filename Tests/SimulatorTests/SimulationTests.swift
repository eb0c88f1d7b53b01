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
    let simulation = Simulation(servers: [.plain], preset: .lift)
    let failure = try #require(
      await simulation.firstFailure(of: Deaf.self, seeds: 1...50) { $0.kinds.contains(.lost) })
    let usual = play(simulation.draw(failure.seed, failure.server), as: StreamModel.self)
    #expect(!usual.kinds.contains(.lost))
  }

  @Test func `the summary does not depend on the number of jobs`() async {
    let one = await Simulation(jobs: 1).run(StreamModel.self, seeds: 1...5)
    let three = await Simulation(jobs: 3).run(StreamModel.self, seeds: 1...5)
    #expect(one == three)
    #expect(one.counts.runs == 10)
  }

  @Test func `the first failure is the one with the lowest seed`() async {
    for jobs in [1, 4] {
      let failure = await Simulation(jobs: jobs).firstFailure(
        of: StreamModel.self, seeds: 1...30
      ) { $0.seed >= 7 }
      #expect(failure?.seed == 7)
      #expect(failure?.server == ServerKind.allCases.first)
    }
  }

  @Test func `a cancelled task ends with what was played`() async {
    let task = Task { await Simulation().run(StreamModel.self, seeds: 1...(.max)) }
    task.cancel()
    #expect(await task.value.counts.runs < 1000)
  }
}
