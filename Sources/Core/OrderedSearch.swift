extension RandomAccessCollection {
  /// Returns the first index whose element does not satisfy `precedes`, by binary search.
  ///
  /// The elements that satisfy it must come before all others, as in a sorted list.
  @inlinable
  package func end(where precedes: (Element) -> Bool) -> Index {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = index(low, offsetBy: distance(from: low, to: high) / 2)
      if precedes(self[middle]) { low = index(after: middle) } else { high = middle }
    }
    return low
  }
}
