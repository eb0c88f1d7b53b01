import Holdfast
import HoldfastMessageData

/// The gaps between the messages of a screen.
struct ShownGaps: Sendable, Hashable {
  /// The gaps, oldest first.
  private(set) var all: [ShopGap] = []

  /// Adds a gap.
  mutating func open(_ gap: ShopGap) {
    all.removeAll { $0.before == gap.before }
    all.append(gap)
    all.sort { $0.before < $1.before }
  }

  /// Removes a gap. Its upper end may have moved down without an update.
  mutating func close(_ gap: ShopGap) {
    let same = all.indices.filter { all[$0].after == gap.after }
    if let index = same.first(where: { all[$0].before >= gap.before }) ?? same.last {
      all.remove(at: index)
    }
  }

  /// Moves the upper ends of the gaps down to the oldest messages that were loaded into them.
  ///
  /// Pages of older messages fill a gap from its upper end.
  mutating func fill(with messages: [ShopMessage]) {
    for index in all.indices {
      let gap = all[index]
      let lower = [gap.after, index > 0 ? all[index - 1].before : nil].compactMap(\.self).max()
      let loaded = messages.lazy.map(\.key).filter { key in
        key < gap.before && lower.map { $0 < key } ?? true
      }
      if let oldest = loaded.min() { all[index].before = oldest }
    }
  }
}
