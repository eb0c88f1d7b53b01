import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// An actor that reads a stream to its end, and lets a test wait for updates.
actor Follower {
  private(set) var updates: [StreamUpdate] = []
  private(set) var hasEnded = false
  private var waiting:
    [(condition: @Sendable (Follower.Seen) -> Bool, resume: CheckedContinuation<Void, Never>)] = []

  /// The updates that were read, grouped by kind.
  struct Seen: Sendable {
    var messages: [(message: ShopMessage, via: StreamUpdate.Via)] = []
    var edits: [ShopMessage] = []
    var deletions: [DeletedMessage] = []
    var statuses: [StreamStatus] = []
    var notices: [StreamNotice] = []
    var gaps: [ShopGap] = []
    var outbox: [OutboxEntry] = []
    var sent: [UUID128] = []
    var historyEnds: [Bool] = []

    var texts: [String] { messages.map(\.message.text) }
    var isLive: Bool { statuses.last?.mode == .live }
  }

  private(set) var seen = Seen()

  nonisolated func follow(_ stream: ShopStream) {
    Task {
      for await update in stream.lastingUpdates { await self.note(update) }
      await self.end()
    }
  }

  /// Returns when the condition holds for the updates read so far, or when the test is canceled.
  func wait(_ condition: @escaping @Sendable (Seen) -> Bool) async {
    if condition(seen) { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation {
        // If the task is canceled, the handler below may have run before this continuation was
        // stored.
        if Task.isCancelled { $0.resume() } else { waiting.append((condition, $0)) }
      }
    } onCancel: {
      Task { await self.giveUp() }
    }
  }

  private func giveUp() {
    for waiter in waiting { waiter.resume.resume() }
    waiting = []
  }

  private func note(_ update: StreamUpdate) {
    updates.append(update)
    switch update {
    case .status(let status): seen.statuses.append(status)
    case .messages(let messages, let via): seen.messages += messages.map { ($0, via) }
    case .notice(let notice): seen.notices.append(notice)
    case .gap(let gap): seen.gaps.append(gap)
    case .outbox(let entry): seen.outbox.append(entry)
    case .outboxDone(let id, _): seen.sent.append(id)
    case .history(let hasMore): seen.historyEnds.append(hasMore)
    case .edited(let messages): seen.edits += messages
    case .deleted(let deletions): seen.deletions += deletions
    case .gapClosed: break
    }
    let seen = seen
    for waiter in waiting.takeAll(where: { $0.condition(seen) }) { waiter.resume.resume() }
  }

  private func end() { hasEnded = true }
}
