import LinkCore
import LinkStorage
import LinkWire

/// What the user of a session was shown.
struct ShownState: Sendable, Hashable {
  /// The state of the link.
  private(set) var status = LinkStatus(phase: .disconnected)
  /// The last known quality.
  private(set) var quality = LinkQuality.good
  /// The last state of each prompt.
  private var prompts: [UUID128: SessionPromptState.State] = [:]
  /// News up to this number were handed to the user.
  private var handed: UInt64 = 0
  /// News up to this number were confirmed.
  private var confirmed: UInt64 = 0

  /// What a new status changes for the user.
  struct StatusChange: Sendable, Hashable {
    /// Whether more than the quality differs.
    var isShown: Bool
    /// Whether tries and connections have ended.
    var hasEnded: Bool
    /// The quality, if it is another one.
    var quality: LinkQuality?
  }

  /// Whether all news that were handed to the user were confirmed.
  var isConfirmed: Bool { confirmed >= handed }

  /// Takes a status of the link; returns what it changes.
  mutating func take(_ next: LinkStatus) -> StatusChange {
    var known = status
    known.quality = next.quality
    let hasEnded = status.phase != next.phase && !next.phase.isTrying
    status = next
    var change = StatusChange(isShown: known != next, hasEnded: hasEnded)
    if let new = next.quality, new != quality { (quality, change.quality) = (new, new) }
    return change
  }

  /// Notes the state of a prompt; returns false if it was shown before.
  mutating func note(_ state: SessionPromptState.State, of key: UUID128) -> Bool {
    prompts.updateValue(state, forKey: key) != state
  }

  /// Notes that news are handed to the user.
  mutating func hand(_ one: NumberedSessionNews) {
    handed = max(handed, one.number)
    if case .ended(let ending) = one.news { prompts[ending.key] = nil }
  }

  /// Notes that the user confirmed news; returns false if they were confirmed before.
  mutating func confirm(_ through: UInt64) -> Bool {
    guard through > confirmed else { return false }
    confirmed = through
    return true
  }
}

extension LinkStatus.Phase {
  /// Whether tries are made or the link stands.
  fileprivate var isTrying: Bool {
    switch self {
    case .connecting, .connected, .reconnecting: true
    case .disconnected, .held, .standby, .failed: false
    }
  }
}
