import LinkCore

/// A value that takes its steps by chance.
protocol RandomWalk {
  var chance: Chance { get set }
}

extension RandomWalk {
  /// Returns a whole number of a range.
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(chance.next() % UInt64(range.count))
  }

  /// Returns one of several values.
  mutating func one<Value>(_ values: [Value]) -> Value {
    values[number(0...values.count - 1)]
  }

  /// Returns true once in so many times.
  mutating func happens(_ times: UInt64) -> Bool { chance.next() % times == 0 }
}
