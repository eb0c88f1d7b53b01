import LinkWire

// Gaps: the holes in a timeline that a reader sees.
extension StreamModel {
  /// Returns the gap, unless there is one already.
  ///
  /// - Parameter place: The position of the message at its upper edge, if it has one.
  @discardableResult
  mutating func openGap(
    below edge: TimelineKey?, at place: Position? = nil, _ step: inout Step
  ) -> Gap? {
    guard let edge, !gaps.contains(where: { $0.before == edge }) else { return nil }
    let whole = (timeline.messages + writer.messages).filter {
      $0.key < edge && recovery.covers($0) && !$0.stands(from: place)
    }
    let gap = Gap(after: whole.map(\.key).max(), before: edge)
    gaps.append(gap)
    gaps.sort { $0.before < $1.before }
    writer.set(gaps: gaps)
    step.show(.gap(gap))
    return gap
  }

  mutating func close(_ gap: Gap, _ step: inout Step) {
    guard let index = gaps.firstIndex(of: gap) else { return }
    gaps.remove(at: index)
    writer.set(gaps: gaps)
    step.show(.gapClosed(gap))
  }
}

extension Message {
  /// Whether it stands at a position of its epoch or behind it.
  ///
  /// One that was stamped before the message at that position is kept from a log that was put back
  /// without it: it says nothing about what lies before that position now.
  fileprivate func stands(from place: Position?) -> Bool {
    guard let place, let position else { return false }
    return position.epoch == place.epoch && position.offset >= place.offset
  }
}
