import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests that replay plans that failed in the past or that reveal a defect.
struct CorpusTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Corpus")

  static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.sorted()

  @Test func `the corpus is not empty`() {
    #expect(!Self.names.isEmpty)
  }

  @Test(arguments: names) func `gives the expected findings`(name: String) throws {
    let bytes = try Data(contentsOf: Self.folder.appending(path: name))
    let corpusCase = try JSONDecoder().decode(Case.self, from: bytes)
    let outcome = play(corpusCase.plan, corpusCase.setup, as: StreamModel.self)
    #expect(outcome.kinds == corpusCase.expected, "\(corpusCase.name): \(outcome.findings)")
    #expect(play(corpusCase.plan, corpusCase.setup, as: StreamModel.self) == outcome)
  }

  @Test(arguments: DayPreset.allCases) func `a case is decoded as it was encoded`(preset: DayPreset)
    throws
  {
    let corpusCase = Case(
      name: "a case", plan: .drawn(preset, seed: 3, server: .plain), policy: .messageStream,
      defect: .noOverlap, expected: [.lost], found: ["lost: one"])
    let bytes = try JSONEncoder().encode(corpusCase)
    #expect(try JSONDecoder().decode(Case.self, from: bytes) == corpusCase)
  }
}
