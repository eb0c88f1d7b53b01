import HoldfastCore
import HoldfastDriver
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60)))
struct ReplayTests {
  let scratch: Scratch
  let clock = TestClock()

  init() throws {
    scratch = try Scratch()
  }

  @Test
  func `a link replays to the same effects and the same state`() async throws {
    let (machine, steps) = try await recordLink()
    let result = try Replay<HeldLink>.run(journal: scratch("j"))
    #expect(result.divergences == [])
    #expect(result.steps == steps)
    #expect(result.machine == machine)
  }

  @Test
  func `detects a replay with another policy`() async throws {
    let (_, steps) = try await recordLink(headerOf: .session)
    let result = try Replay<HeldLink>.run(journal: scratch("j"), limit: 1)
    #expect(result.steps == steps)
    #expect(result.diverged > 1)
    #expect(result.divergences.count == 1)
    #expect(result.divergences[0].got != result.divergences[0].expected)
  }

  @Test
  func `reports where a replay diverged`() async throws {
    let journal = try await Journal<Bell>(path: scratch("j"), header: bell) { _ in }
    journal.record(JournalStep(at: .zero, cause: .input(.say(1)), effects: [.said(1)]))
    journal.record(JournalStep(at: .zero, cause: .input(.say(2)), effects: [.said(3)]))
    await journal.close()
    let result = try Replay<Bell>.run(journal: scratch("j"))
    #expect(
      result.divergences == [
        .init(
          path: scratch("j"), line: 4, cause: .input(.say(2)), expected: [.said(3)],
          got: [.said(2)])
      ])
    #expect((result.steps, result.diverged) == (2, 1))
  }

  @Test
  func `replays across the two parts of a run`() async throws {
    try await recordBell(steps: 0, limit: 1 << 20)
    // There is room for seven of the ten steps. Each step takes 62 bytes.
    try await recordBell(steps: 10, limit: scratch.bytes(of: "j").count + 440)
    let result = try Replay<Bell>.run(journal: scratch("j"))
    #expect((result.steps, result.diverged) == (10, 0))
    #expect(try JournalReader<Bell>(path: scratch("j")).header.part == 2)
  }

  @Test
  func `does not start in the middle of a run`() async throws {
    try await recordBell(steps: 1_000, limit: 2_500)
    let error = try #require(throws: JournalError.self) {
      try Replay<Bell>.run(journal: scratch("j"))
    }
    guard case .beginning = error.problem else {
      Issue.record("\(error)")
      return
    }
  }

  @Test
  func `refuses a journal of another machine and names both machines`() async throws {
    try await recordBell(steps: 1, limit: 1 << 20)
    let error = try #require(throws: JournalError.self) {
      try Replay<HeldLink>.run(journal: scratch("j"))
    }
    #expect(error.problem == .machine("bell", known: ["link"]))
    #expect(
      error.description
        == "\(scratch("j")):1: it is a journal of \"bell\", not of \"link\". "
        + "Replay it with the version of the software that wrote it.")
    #expect(try JournalFormat.machine(of: scratch("j")) == "bell")
  }

  private let bell = JournalHeader<Bell>(
    birth: Bell.Birth(), seed: 7, startedAt: Timestamp(nanoseconds: 5))

  private func recordBell(steps: Int, limit: Int) async throws {
    let journal = try await Journal<Bell>(
      path: scratch("j"), header: bell, limit: limit
    ) { _ in }
    for number in 0..<steps {
      journal.record(JournalStep(at: .zero, cause: .input(.say(number)), effects: [.said(number)]))
    }
    await journal.close()
  }

  /// Runs a link through a few lost attempts. Returns its final state and the number of steps.
  private func recordLink(
    headerOf policy: LinkPolicy = .messageStream
  ) async throws -> (HeldLink, UInt64) {
    let header = JournalHeader<HeldLink>(
      birth: HeldLink.Birth(policy: policy), seed: 7, startedAt: Timestamp(nanoseconds: 5))
    let journal = try await Journal<HeldLink>(path: scratch("j"), header: header) { _ in }
    let answers = Mailbox<Driver<HeldLink>>()
    let opened = Mailbox<Void>()
    let driver = Driver(
      machine: HeldLink(policy: .messageStream, seed: 7), clock: clock, journal: journal
    ) { effect, _ in
      guard let driver = await answers.next() else { return }
      answers.put(driver)
      switch effect {
      case .prepare(let attempt): #expect(driver.tryPost(.prepared(attempt)))
      case .open(let attempt):
        #expect(driver.tryPost(.lost(attempt, .refused)))
        opened.put(())
      case .close, .ping, .refreshCredentials, .poll, .arm, .disarm, .status: break
      }
    }
    answers.put(driver)
    let inputs: [HeldLink.Input] = [
      .reachability(.reachable(path: PathID("a"))), .lifecycle(.foreground),
      .credentials(.available(expiresIn: nil)), .setIntent(.live),
    ]
    for input in inputs { #expect(driver.tryPost(input)) }
    let running = Task { await driver.run() }
    let time = Task { [clock] in while await clock.advanceToNextDeadline() != nil {} }
    #expect(await opened.next(4).count == 4)
    running.cancel()
    await running.value
    time.cancel()
    await time.value
    _ = answers.takeAll()
    let steps = try JournalReader<HeldLink>.steps(in: scratch("j"))
    #expect(steps > 8)
    return (await driver.snapshot, steps)
  }
}

extension JournalReader where M == HeldLink {
  fileprivate static func steps(in path: String) throws -> UInt64 {
    var reader = try JournalReader(path: path)
    var count: UInt64 = 0
    while try reader.next() != nil { count += 1 }
    return count
  }
}
