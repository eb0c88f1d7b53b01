import HoldfastCore
import Testing

extension RandomInputs {
  /// Runs each seed. Expects that every property holds and that exactly these cases occur.
  ///
  /// - Parameters:
  ///   - inputs: The names of the input cases, separated by white space.
  ///   - effects: The names of the effect cases, separated by white space.
  func expectSound(
    inputs: String, effects: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let outcome = run()
    #expect(outcome.failures == [], sourceLocation: sourceLocation)
    #expect(outcome.inputs.sorted() == names(of: inputs), sourceLocation: sourceLocation)
    #expect(outcome.effects.sorted() == names(of: effects), sourceLocation: sourceLocation)
  }

  private func names(of text: String) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map { String($0) }.sorted()
  }

  /// Runs seeds with an injected fault. Expects that `property` is the first to break for one of
  /// them.
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
