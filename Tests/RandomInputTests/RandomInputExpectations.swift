import LinkCore
import Testing

extension RandomInputs {
  /// Runs each seed, and expects that every property holds and that these are all the cases of
  /// inputs and of effects that occurred.
  func expectSound(
    inputs: Set<String>, effects: Set<String>, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let outcome = run()
    #expect(outcome.failures == [], sourceLocation: sourceLocation)
    #expect(outcome.inputs.sorted() == inputs.sorted(), sourceLocation: sourceLocation)
    #expect(outcome.effects.sorted() == effects.sorted(), sourceLocation: sourceLocation)
  }

  /// Runs seeds with an injected fault, and expects that it breaks a property of this name.
  static func expectFound(
    _ property: String, acts: Int = 150, sourceLocation: SourceLocation = #_sourceLocation,
    _ fault: @escaping Fault<Generator.Subject>
  ) {
    let inputs = RandomInputs(seeds: 0..<40, acts: acts, fault: fault)
    let found = inputs.seeds.lazy.compactMap { inputs.play($0).run.broken }.first
    #expect(found?.hasPrefix(property) == true, sourceLocation: sourceLocation)
  }
}

extension Set<String> {
  /// The words of a text.
  init(words text: String) {
    self.init(text.split(whereSeparator: \.isWhitespace).map { String($0) })
  }
}
