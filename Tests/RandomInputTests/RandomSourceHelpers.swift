import LinkCore

/// A value that makes its choices with a seeded generator, so that one seed makes one run.
protocol RandomSource {
  var chance: Chance { get set }
}

extension RandomSource {
  /// Returns a whole number of a range.
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(chance.next() % UInt64(range.count))
  }

  /// Returns one of several values.
  mutating func one<Value>(_ values: [Value]) -> Value {
    values[number(0...values.count - 1)]
  }

  /// Returns true once in so many times.
  mutating func oneIn(_ times: UInt64) -> Bool { chance.next() % times == 0 }

  /// Returns the value, or nothing, equally often.
  mutating func maybe<Value>(_ value: Value) -> Value? { oneIn(2) ? value : nil }
}
