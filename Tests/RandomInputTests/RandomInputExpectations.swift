import LinkCore
import Testing

extension RandomInputs {
  /// Runs each seed, and expects that every property holds and that these are all the cases of
  /// inputs and of effects that occurred, named with spaces between them.
  func expectSound(
    inputs: String, effects: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let outcome = run()
    #expect(outcome.failures == [], sourceLocation: sourceLocation)
    #expect(outcome.inputs.sorted() == words(of: inputs), sourceLocation: sourceLocation)
    #expect(outcome.effects.sorted() == words(of: effects), sourceLocation: sourceLocation)
  }

  private func words(of text: String) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map { String($0) }.sorted()
  }

  /// Runs seeds with an injected fault, and expects that one breaks a property of this name first.
  static func expectFound(
    _ property: String, acts: Int = 150, sourceLocation: SourceLocation = #_sourceLocation,
    _ fault: @escaping Fault<Generator.Subject>
  ) {
    let inputs = RandomInputs(seeds: 0..<40, acts: acts, fault: fault)
    let isFound = inputs.seeds.contains { seed in
      inputs.play(seed).run.broken?.hasPrefix(property) == true
    }
    #expect(isFound, sourceLocation: sourceLocation)
  }
}
