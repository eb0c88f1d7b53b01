extension [TraceFact] {
  /// Returns the facts in order of time, with the causes at their new places. Facts of the same time
  /// keep their order.
  public func inOrderOfTime() -> [TraceFact] {
    let order = indices.sorted { (self[$0].at, $0) < (self[$1].at, $1) }
    var place = [Int](repeating: 0, count: count)
    for (new, old) in order.enumerated() { place[old] = new }
    return order.map { old in
      var fact = self[old]
      fact.cause = fact.cause.map { place[$0] }
      return fact
    }
  }
}
