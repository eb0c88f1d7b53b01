import LinkCore
import LinkStorage
import LinkWire

// What the pages of a server without positions prove of what is kept.
extension StreamModel {
  func meetsKept(_ page: Page) -> Bool { leadsToKept(page) && !hidesLate(page) }

  /// Whether the pages of a walk down lead to what is kept, and to all that `since` brought of what
  /// may lie below it.
  func meetsKept(_ page: Page, _ run: Recovery.Run) -> Bool {
    run.goal == nil && (run.meetsKept || meetsKept(page))
  }

  /// Whether a page without positions holds something kept, before which nothing is missing. Stamps
  /// alone do not tell: a server's clock may have gone back.
  func leadsToKept(_ page: Page) -> Bool { page.messages.contains(where: isKept) }

  private func isKept(_ message: Message) -> Bool {
    guard let time = recovery.cursor.time else { return false }
    return isSeen(message.id) && message.createdAt <= time
      && !recovery.unplaced.contains(message.id)
  }

  /// Whether something unseen in it is stamped earlier than late stamps may be.
  func hidesLate(_ page: Page) -> Bool {
    guard let time = recovery.cursor.time else { return false }
    let earliest = time.advanced(by: .zero - settings.overlap)
    return page.messages.contains { $0.createdAt < earliest && !isSeen($0.id) }
  }

  /// Whether a page of a walk brings what a clock stamped that went back: once it is kept, the next
  /// walk ends there.
  private func goesBack(_ page: Page, in run: Recovery.Run) -> Bool {
    guard case .newest = run.kind, let time = recovery.cursor.time else { return false }
    return page.messages.contains { $0.createdAt <= time && !isSeen($0.id) }
  }

  func isSeen(_ id: MessageID) -> Bool { timeline.contains(id) || writer.holds(id) }

  /// Notes how far down a page leads: `since` may bring what lies below all that is kept, without
  /// what is stamped late there. In a server's own order that follows what is kept, or is a page
  /// without any of it, and is stamped no later than late stamps may be after the oldest of it.
  func noteBottom(_ page: Page, in run: inout Recovery.Run) {
    let messages = page.messages
    switch run.kind {
    case .since:
      // Where memory is full, the store may hold what memory does not know.
      guard page.head == nil, history.hasMore, let bottom = run.bottom,
        !timeline.isFull,
        run.bottomGap != nil || !gaps.contains(where: { $0.before == bottom })
      else { return }
      let latest = bottom.createdAt.advanced(by: settings.overlap)
      let first = messages.firstIndex(where: isKept)
      let start = run.meetsKept ? 0 : first ?? 0
      run.meetsKept = run.meetsKept || first != nil
      let below = messages[start...].last { $0.createdAt <= latest && !isSeen($0.id) }
      run.goal = below?.id ?? run.goal
    case .newest:
      guard let goal = run.goal else { return }
      let place = messages.firstIndex { $0.id == goal }
      let above = messages[..<(place ?? messages.count)]
      run.meetsKept = run.meetsKept || above.contains(where: isKept)
      if place != nil || !page.hasNext { run.goal = nil }
    case .initial, .recent, .position: return
    }
  }

  /// Keeps a gap before everything that a run does not know yet while it is under way.
  mutating func moveHole(
    with page: Page, in run: inout Recovery.Run, isLast: Bool, _ step: inout Step
  ) {
    let hidesHole = !isLast && !run.meetsKept && (run.hole != nil || goesBack(page, in: run))
    if let hole = run.hole { close(hole, &step) }
    run.hole = hidesHole ? openGap(below: run.oldest, &step) : nil
    if let gap = run.bottomGap, run.goal == nil {
      close(gap, &step)
      run.bottomGap = nil
    } else if run.goal != nil, run.bottomGap == nil {
      run.bottomGap = openGap(below: run.bottom, isBottomless: true, &step)
    }
  }
}
