import LinkStorage
import LinkWire

// Gaps: the holes in a timeline that a reader sees.
extension StreamModel {
  /// Returns the gap, unless there is one already.
  ///
  /// - Parameter isBottomless: Whether nothing that is kept below says where it ends.
  @discardableResult
  mutating func openGap(
    below edge: TimelineKey?, isBottomless: Bool = false, _ step: inout Step
  ) -> Gap? {
    guard let edge, !gaps.contains(where: { $0.before == edge }) else { return nil }
    let kept = isBottomless ? [] : (timeline.messages + writer.messages).filter { $0.key < edge }
    let gap = Gap(after: kept.filter { recovery.covers($0) }.map(\.key).max(), before: edge)
    gaps.append(gap)
    gaps.sort { $0.before < $1.before }
    writer.set(gaps: gaps)
    step.show(.gap(gap))
    return gap
  }

  /// Whether another message is kept at the position of a message: the log was put back, and has
  /// grown again since.
  func isDisplaced(by message: Message) -> Bool {
    guard let place = message.position else { return false }
    func takes(_ other: Message) -> Bool { other.position == place && other.id != message.id }
    return timeline.messages.contains(where: takes) || writer.messages.contains(where: takes)
  }

  mutating func close(_ gap: Gap, _ step: inout Step) {
    guard let index = gaps.firstIndex(of: gap) else { return }
    gaps.remove(at: index)
    writer.set(gaps: gaps)
    step.show(.gapClosed(gap))
  }
}

extension [Message] {
  /// Returns the lowest offset of those that follow each other down from a position.
  func lowestOffset(from position: Position) -> UInt64 {
    let places = lazy.compactMap(\.position).filter { $0.epoch == position.epoch }
    let offsets = Set(places.map(\.offset))
    var lowest = position.offset
    while lowest > 1, offsets.contains(lowest - 1) { lowest -= 1 }
    return lowest
  }
}
