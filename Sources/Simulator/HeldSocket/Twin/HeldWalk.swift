import LinkCore

/// A random walk that keeps the first difference that it finds.
protocol HeldWalk: RandomWalk {
  var stray: String? { get set }
}

extension HeldWalk {
  /// Notes a difference, if there is one and it is the first.
  mutating func compare<Value: Equatable>(
    _ what: @autoclosure () -> String, _ found: Value, _ must: Value
  ) {
    guard stray == nil, found != must else { return }
    stray = "\(what()) is \(found), and must be \(must)"
  }

  /// Notes the invariants of a value that do not hold.
  mutating func compareInvariants(of value: some SelfChecking, after what: String) {
    guard stray == nil else { return }
    var check = InvariantCheck(happens(2) ? .thorough : .quick)
    value.check(&check)
    compare("what is wrong after \(what)", check.broken, [])
  }
}
