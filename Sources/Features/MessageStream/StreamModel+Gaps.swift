import LinkWire

// Gaps: the holes in a timeline that a reader sees.
extension StreamModel {
  /// Returns the gap, unless there is one already.
  @discardableResult
  mutating func openGap(below edge: TimelineKey?, _ step: inout Step) -> Gap? {
    guard let edge, !gaps.contains(where: { $0.before == edge }) else { return nil }
    let kept = (timeline.messages + writer.messages).filter { $0.key < edge }
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
    return timeline.messages.contains { $0.position == place && $0.id != message.id }
  }

  /// Returns the lowest offset of an epoch at which memory holds a message.
  func lowestOffset(in epoch: String) -> UInt64? {
    let places = timeline.messages.lazy.compactMap(\.position).filter { $0.epoch == epoch }
    return places.map(\.offset).min()
  }

  mutating func close(_ gap: Gap, _ step: inout Step) {
    guard let index = gaps.firstIndex(of: gap) else { return }
    gaps.remove(at: index)
    writer.set(gaps: gaps)
    step.show(.gapClosed(gap))
  }
}
