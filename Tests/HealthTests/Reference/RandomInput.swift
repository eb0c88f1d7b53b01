import HoldfastCore
import HoldfastTestKit

/// A generator of random input.
protocol RandomInput {
  var generator: RandomSource { get set }
}

extension RandomInput {
  /// Returns a random integer in a range.
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(generator.next() % UInt64(range.count))
  }

  /// Returns a random element of an array.
  mutating func one<Value>(_ values: [Value]) -> Value {
    values[number(0...values.count - 1)]
  }

  /// Returns true with a probability of one in `times`.
  mutating func happens(_ times: UInt64) -> Bool { generator.next() % times == 0 }

  /// Returns either the value or `nil`, with equal probability.
  mutating func maybe<Value>(_ value: Value) -> Value? { happens(2) ? value : nil }
}

/// The seeds of the random inputs of each suite.
let randomSeeds = PlayedSeeds.of(1...200)

extension String {
  /// Creates a string that repeats one ASCII character.
  ///
  /// This initializer takes a fraction of the time of `String(repeating:count:)`.
  init(of character: Unicode.Scalar, count: Int) {
    self.init(decoding: [UInt8](repeating: UInt8(ascii: character), count: count), as: UTF8.self)
  }
}

/// Returns the path and both contents of the first property or element in which two values differ.
func firstDifference<Value: Equatable>(_ found: Value, _ expected: Value) -> String? {
  found == expected
    ? nil : mirroredDifference(found, expected) ?? "found \(found), expected \(expected)"
}

private func mirroredDifference(_ found: Any, _ expected: Any) -> String? {
  let (left, right) = (Mirror(reflecting: found), Mirror(reflecting: expected))
  let isOrdered = left.displayStyle != .set && left.displayStyle != .dictionary
  if isOrdered, left.children.count == right.children.count {
    for (index, (one, two)) in zip(left.children, right.children).enumerated() {
      if let rest = mirroredDifference(one.value, two.value) {
        return "\(one.label ?? "\(index)").\(rest)"
      }
    }
  }
  let (one, two) = (String(reflecting: found), String(reflecting: expected))
  return one == two ? nil : "found \(one.prefix(2_000)), expected \(two.prefix(2_000))"
}
