import HoldfastCore
import HoldfastSessionData

/// The state that was shown to the user of a session.
struct ShownState: Sendable, Hashable {
  /// The status of the link.
  private(set) var status = LinkStatus(phase: .disconnected)
  /// The most recent quality.
  private(set) var quality = LinkQuality.good
  /// The most recent state of each prompt.
  private var prompts: [UUID128: SessionPromptState.State] = [:]
  /// The numbers of the news items that were reported to the user and not confirmed, in order.
  ///
  /// The store keeps each item until it is confirmed, so the list is small beside it.
  private(set) var open: [UInt64] = []
  /// The number of the last news item that was reported.
  private var last: UInt64 = 0
  /// The number up to which the user has confirmed all news items.
  private(set) var confirmed: UInt64 = 0

  /// The effect of a new link status on the user.
  struct StatusChange: Sendable, Hashable {
    /// Whether anything other than the quality has changed.
    var isShown: Bool
    /// Whether attempts and connections have ended.
    var hasEnded: Bool
    /// The new quality; `nil` if it has not changed.
    var quality: LinkQuality?
  }

  /// Whether the user has confirmed all news.
  var isConfirmed: Bool { open.isEmpty }

  /// Records a status of the link. Returns the change.
  mutating func take(_ next: LinkStatus) -> StatusChange {
    var known = status
    known.quality = next.quality
    let hasEnded = status.phase != next.phase && !next.phase.isTrying
    status = next
    var change = StatusChange(isShown: known != next, hasEnded: hasEnded)
    if let new = next.quality, new != quality { (quality, change.quality) = (new, new) }
    return change
  }

  /// Records the state of a prompt. Returns false if that state was already shown.
  mutating func note(_ state: SessionPromptState.State, of key: UUID128) -> Bool {
    prompts.updateValue(state, forKey: key) != state
  }

  /// Records that a news item is reported to the user.
  mutating func deliver(_ one: NumberedSessionNews) {
    if one.number > confirmed { open.append(one.number) }
    last = max(last, one.number)
    if case .ended(let ending) = one.news { prompts[ending.key] = nil }
  }

  /// Records that the user confirmed news items. Returns false if they were already confirmed.
  ///
  /// It does not reach items that are reported later.
  mutating func confirm(_ through: UInt64) -> Bool {
    let through = min(through, last)
    guard through > confirmed else { return false }
    confirmed = through
    open.removeFirst(open.prefix { $0 <= through }.count)
    return true
  }

  /// Records that the user confirmed single news items. Returns those that were not confirmed
  /// before.
  ///
  /// If no earlier item is left, `confirmed` moves past them.
  mutating func confirm(only numbers: [UInt64]) -> [UInt64] {
    var marked: [UInt64] = []
    for number in numbers {
      guard let index = open.lastIndex(of: number) else { continue }
      open.remove(at: index)
      marked.append(number)
    }
    if !marked.isEmpty { confirmed = max(confirmed, open.first.map { $0 - 1 } ?? last) }
    return marked
  }
}

extension ShownState: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    guard check.isThorough else { return }
    check.require(
      zip(open, open.dropFirst()).allSatisfy { $0 < $1 },
      "shown state: unconfirmed news are in order")
    check.require(
      open.allSatisfy { $0 > confirmed },
      "shown state: what is unconfirmed comes after what is confirmed")
  }
}

extension LinkStatus.Phase {
  /// Whether attempts are made or a connection is open.
  fileprivate var isTrying: Bool {
    switch self {
    case .connecting, .connected, .reconnecting: true
    case .disconnected, .held, .standby, .failed: false
    }
  }
}
