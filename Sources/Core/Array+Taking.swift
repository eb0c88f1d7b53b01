extension Array {
  /// Removes the elements that satisfy a predicate, and returns them in order.
  ///
  /// The predicate is called once for each element. So it may read a state that other threads
  /// change, and each element is either kept or returned.
  package mutating func takeAll(where isTaken: (Element) -> Bool) -> [Element] {
    var taken: [Element] = []
    removeAll { element in
      guard isTaken(element) else { return false }
      taken.append(element)
      return true
    }
    return taken
  }
}
