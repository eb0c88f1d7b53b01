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

  /// Returns the value, or nothing, equally often.
  mutating func maybe<Value>(_ value: Value) -> Value? { happens(2) ? value : nil }
}

/// A random walk beside a twin, which ends at the first difference.
protocol TwinWalk: RandomWalk {
  /// The first difference that was found.
  var stray: String? { get set }
  init?(_ chance: Chance)
  /// Takes so many steps, or until there is a difference; returns it.
  mutating func walk(_ steps: Int) -> String?
}

extension TwinWalk {
  /// A walk of so many steps.
  static func steps(_ count: Int) -> Walk {
    { chance in
      guard var walk = Self(chance) else { return "\(Self.self) cannot begin" }
      return walk.walk(count)
    }
  }

  static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// Notes a difference, if there is one and it is the first.
  ///
  /// - Parameter what: What is compared, in words; evaluated only if there is a difference, since
  ///   words take longer than most comparisons.
  mutating func compare<Value: Equatable>(
    _ what: @autoclosure () -> String, _ found: Value, _ must: Value
  ) {
    if found != must, stray == nil { stray = "\(what()) is \(found), and must be \(must)" }
  }

  /// Notes the invariants of a value that do not hold.
  mutating func compareInvariants(
    of value: some SelfChecking, after what: @autoclosure () -> String
  ) {
    guard stray == nil else { return }
    var check = InvariantCheck(happens(2) ? .thorough : .quick)
    value.check(&check)
    compare("what is wrong after \(what())", check.broken, [])
  }
}
