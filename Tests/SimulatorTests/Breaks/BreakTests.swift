import HoldfastCore
import HoldfastMessageStream
import Testing

@testable import HoldfastWorlds

struct BreakTests {
  static let cases = StreamDefect.allCases.flatMap { defect in
    defect.catchable.map { Case(defect: defect, server: $0) }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var defect: StreamDefect
    var server: ServerKind

    var testDescription: String { "\(defect.rawValue), \(server.rawValue)" }

    func finds(_ seed: UInt64, _ defect: StreamDefect?) -> Bool {
      let plan = Plan.drawn(.swarm, seed: seed, server: server)
      let outcome = play(plan, Setup(defect: defect), as: StreamModel.self)
      return outcome.findings.contains { self.defect.kinds.contains($0.kind) }
    }
  }

  @Test(.timeLimit(.minutes(10)), arguments: cases)
  func `each defect is caught by one of its seeds that is clean without the defect`(_ one: Case) {
    let seeds = 1...UInt64(one.defect.seeds)
    let catching = seeds.first { one.finds($0, one.defect) && !one.finds($0, nil) }
    #expect(catching != nil)
  }

  @Test func `each defect declares the servers, seeds and findings that show it`() {
    for defect in StreamDefect.allCases {
      #expect(!defect.catchable.isEmpty)
      #expect(!defect.kinds.isEmpty)
      #expect(defect.seeds > 0)
    }
  }
}
