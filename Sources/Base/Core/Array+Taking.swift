extension Array {
  /// Removes the elements that satisfy a predicate, and returns them in order.
  ///
  /// The predicate is called once for each element. Each element is therefore either kept or
  /// returned, even if the predicate reads state that other threads change.
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
