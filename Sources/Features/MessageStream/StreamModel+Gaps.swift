import LinkCore
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
    let kept = isBottomless ? [] : (timeline.messages + commits.messages).filter { $0.key < edge }
    let gap = Gap(after: kept.filter { recovery.covers($0) }.map(\.key).max(), before: edge)
    gaps.append(gap)
    gaps.sort { $0.before < $1.before }
    commits.waiting.change.gaps = gaps
    step.show(.gap(gap))
    return gap
  }

  mutating func close(_ gap: Gap, _ step: inout Step) {
    guard let index = gaps.firstIndex(of: gap) else { return }
    gaps.remove(at: index)
    commits.waiting.change.gaps = gaps
    step.show(.gapClosed(gap))
  }
}
