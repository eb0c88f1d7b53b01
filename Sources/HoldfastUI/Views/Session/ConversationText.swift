import Holdfast
import HoldfastCore
import HoldfastSession

/// The state of a turn, in words.
struct TurnText: Sendable, Hashable {
  let author: Phrase
  /// The outcome of a prompt; `nil` for other turns and for an answered prompt.
  let state: Phrase?
  /// Whether an answer is being produced.
  let isBusy: Bool

  init(_ row: TurnRow) {
    author =
      switch row.role {
      case .user: Phrase("turns.user")
      case .assistant: Phrase("turns.assistant")
      case .system: Phrase("turns.system")
      }
    isBusy = row.state == .accepted
    state =
      switch row.state {
      case .queued: Phrase("turns.queued")
      case .sent: Phrase("turns.sent")
      case .accepted: Phrase("turns.accepted")
      case .failed: Phrase("turns.failed")
      case .interrupted: Phrase("turns.interrupted")
      case .unsure: Phrase("turns.unsure")
      case .answered, nil: nil
      }
  }
}

extension Phrase {
  /// Creates the text of a quality; `nil` for a good one.
  init?(_ quality: LinkQuality) {
    switch quality {
    case .good: return nil
    case .degraded: self.init("turns.quality.degraded")
    case .poor: self.init("turns.quality.poor")
    }
  }

  /// Creates the text of a gap.
  init(_ gap: SessionGap) {
    switch gap {
    case .pruned: self.init("turns.gap.pruned")
    case .clientAhead, .replaced: self.init("turns.gap.replaced")
    case .hole, .notRecovered: self.init("turns.gap.hole")
    }
  }

  /// Creates the text of a notice; `nil` if the user need not know of it, or a turn says it.
  init?(_ notice: SessionNotice) {
    switch notice {
    case .stale: self.init("turns.notice.stale")
    case .refused: self.init("turns.notice.refused")
    case .clockSkew: self.init("turns.notice.clock")
    case .store(let failure): self.init(failure)
    case .unanswered(let count): self.init("turns.notice.unanswered", count)
    case .malformed, .oversized, .draining, .payload, .storeRecovered: return nil
    }
  }
}
