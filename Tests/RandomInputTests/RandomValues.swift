import HoldfastCore

/// A type that makes its choices with a seeded generator, so that a seed determines a run.
protocol RandomValues {
  var generator: RandomSource { get set }
}

extension RandomValues {
  /// Returns a random integer in a range.
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(generator.next() % UInt64(range.count))
  }

  /// Returns a random element.
  mutating func one<Value>(_ values: [Value]) -> Value {
    values[number(0...values.count - 1)]
  }

  /// Returns true with a probability of one in `times`.
  mutating func oneIn(_ times: UInt64) -> Bool { generator.next() % times == 0 }

  /// Returns the value or `nil` with equal probability.
  mutating func maybe<Value>(_ value: Value) -> Value? { oneIn(2) ? value : nil }
}
