/// Suggestions for misspelt words.
public enum Spelling {
  /// Returns the word nearest to `wrong`; `nil` if none is near.
  ///
  /// A word is near if `wrong` has three letters or more and is its beginning, or if at most a
  /// third of the letters differ. Of equally near words the first is returned.
  public static func nearest(to wrong: String, among words: [String]) -> String? {
    if wrong.count >= 3, let whole = words.first(where: { $0.hasPrefix(wrong) }) { return whole }
    let near = words.map { (word: $0, distance: distance(from: wrong, to: $0)) }
      .filter { $0.distance <= max(1, wrong.count / 3) }
    return near.min { $0.distance < $1.distance }?.word
  }

  /// Returns how many letters must be inserted, removed, replaced or swapped with a neighbour.
  public static func distance(from left: String, to right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let isSame = left[row] == right[column]
        var best = min(
          last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
