import Foundation
import HoldfastCore
import HoldfastDriver
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct BrokenInvariantTests {
  @Test func `a broken invariant ends the process, and no effect of its step is performed`()
    async throws
  {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent, \.standardOutputContent]
    ) {
      let driver = Driver(machine: Bell(), clock: TestClock()) { effect, _ in
        print("performed \(effect)")
        fflush(nil)
      }
      _ = driver.tryPost(.say(7))
      _ = driver.tryPost(.crack)
      await driver.run()
    }
    let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(errors.contains("the machine bell broke an invariant: bell: it has no crack"))
    let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
    #expect(output.contains("performed said(7)"))
    #expect(!output.contains("performed said(0)"))
  }

  @Test func `the journal ends with the step that broke the invariant`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "crack-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    await #expect(processExitsWith: .failure) { [path = path as String] in
      let header = JournalHeader<Bell>(
        birth: Bell.Birth(), seed: 1, startedAt: Timestamp(nanoseconds: 0))
      let journal = try await Journal(path: path, header: header) { _ in }
      let driver = Driver(machine: Bell(), clock: TestClock(), journal: journal) { _, _ in }
      _ = driver.tryPost(.say(7))
      _ = driver.tryPost(.crack)
      await driver.run()
    }
    var steps: [JournalStep<Bell>.Cause] = []
    _ = try Replay<Bell>.run(journal: path, watch: { step, _, _ in steps.append(step.cause) })
    #expect(steps == [.input(.say(7)), .input(.crack)])
  }
}
