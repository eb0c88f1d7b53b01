import HoldfastCore
import HoldfastStorage
import HoldfastWire

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
  private var open: [UInt64] = []
  /// The numbers in `open` that were confirmed while earlier ones were not.
  private var confirmedAhead: Set<UInt64> = []
  /// The number up to which the user has confirmed news items.
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

  /// Records that news items are reported to the user.
  mutating func deliver(_ one: NumberedSessionNews) {
    if one.number > confirmed { open.append(one.number) }
    if case .ended(let ending) = one.news { prompts[ending.key] = nil }
  }

  /// Records that the user confirmed news items. Returns false if they were already confirmed.
  mutating func confirm(_ through: UInt64) -> Bool {
    guard through > confirmed else { return false }
    confirmed = through
    advance()
    return true
  }

  /// Records that the user confirmed single news items. Returns whether `confirmed` has changed.
  mutating func confirm(only numbers: [UInt64]) -> Bool {
    let before = confirmed
    confirmedAhead.formUnion(numbers.filter { open.lastIndex(of: $0) != nil })
    advance()
    return confirmed > before
  }

  /// Moves `confirmed` past the confirmed items at the start of `open`.
  private mutating func advance() {
    let (confirmed, ahead) = (confirmed, confirmedAhead)
    let done = Array(open.prefix { $0 <= confirmed || ahead.contains($0) })
    self.confirmed = max(confirmed, done.last ?? 0)
    open.removeFirst(done.count)
    confirmedAhead.subtract(done)
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
