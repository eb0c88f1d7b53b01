import LinkWire

// How pages that are found by counting are tied to what is shown.
//
// A page is evidence only for what lies between two neighbours in it, and, since new messages come
// on top, for what lies between the pages of one walk down. So what it brings is known to follow
// what is shown only after the walk has met the message that it began at.
extension History.Fetch {
  /// Notes what a page reaches behind the message that the fetch began at.
  ///
  /// - Parameter bringsUnseen: whether it holds a message that is not kept.
  /// - Parameter beyond: the last message before the gap that is to be filled.
  /// - Returns: How far down the server's list that message was found, from 1, if it was.
  mutating func take(_ page: Page, bringsUnseen: Bool, beyond: TimelineKey?) -> Int? {
    lowest = page.messages.compactMap(\.position).min { $0.offset < $1.offset }
    if case .page(number: 1, _) = query, tie == .loose { tie = .newest }
    let start = tie == .shown ? nil : page.messages.firstIndex { $0.id == below.id }
    if start != nil || isBehind(page, bringsUnseen: bringsUnseen) { tie = .shown }
    guard tie == .shown else { return nil }
    let behind = page.messages[(start.map { $0 + 1 } ?? 0)...]
    reached = (behind.map(\.key) + [reached].compactMap(\.self)).min()
    if let beyond {
      // The message itself may have been deleted; a whole page of older ones was not.
      let isBeyond =
        !bringsUnseen && !behind.isEmpty && page.messages.allSatisfy { $0.key <= beyond }
      meetsBeyond = meetsBeyond || isBeyond || behind.contains { $0.id == beyond.id }
    }
    guard let start, case .page(let number, let limit) = query else { return nil }
    return (number - 1) * limit + start + 1
  }

  /// Whether a page on the way down from the newest lies behind a message that was deleted: all
  /// that is newer is kept.
  private func isBehind(_ page: Page, bringsUnseen: Bool) -> Bool {
    tie == .newest && bringsUnseen && page.messages.allSatisfy { $0.key < below }
  }

  /// Whether its pages lie too far down, or no page on this way is known to follow what is shown:
  /// then the way leads down from the newest.
  func isAstray(after page: Page) -> Bool {
    guard tie == .loose, !page.isUnreadable else { return false }
    return !page.hasNext || pages >= 10 || page.messages.allSatisfy { $0.key < below }
  }

  func next(_ settings: StreamSettings) -> PageQuery? {
    guard pages < settings.catchUpPages else { return nil }
    switch query {
    case .page(let number, let limit): return .page(number: number + 1, limit: limit)
    case .before(_, let limit): return lowest.map { .before($0, limit: limit) }
    case .since, .after: return nil
    }
  }
}
