/// What goes wrong in the story, in its order.
public enum Trouble: String, Sendable, Hashable, CaseIterable {
  /// Every connection ends at once.
  case cut
  /// Nothing arrives any more, and nothing closes.
  case halfOpen
  /// The server crashes and comes back.
  case restart
  /// The token runs out while the phone is connected.
  case expiry
  /// Nobody answers connects; the phone falls to polling.
  case refusal
  /// The server is back without its live stream; the phone polls until it offers it again.
  case noStream
  /// The phone's process is killed and launched again.
  case kill
  /// Every connection ends while an assistant's question is open.
  case openQuestion

  /// A few words for the ledger.
  var title: String {
    switch self {
    case .cut: "link cut"
    case .halfOpen: "half-open link"
    case .restart: "server restart"
    case .expiry: "token expiry"
    case .refusal: "server refuses"
    case .noStream: "only polling"
    case .kill: "phone killed"
    case .openQuestion: "cut while asked"
    }
  }
}

/// What became of one trouble.
public struct Outcome: Sendable, Hashable {
  /// The longest times that the policy and this machine's work allow.
  public struct Bounds: Sendable, Hashable {
    /// Until the phone notices; `nil` where there is nothing that it could notice.
    public var noticed: Duration?
    /// Until everything is whole again.
    public var whole: Duration
  }

  /// Which trouble.
  public var trouble: Trouble
  /// From its beginning to the phone's first status that is not connected; `nil` if none came.
  public var noticed: Duration?
  /// From its end until every message accepted so far is shown, or the question is answered; `nil`
  /// if that did not happen.
  public var whole: Duration?
  /// What is allowed.
  public var bounds: Bounds

  /// Whether both times keep their bounds.
  public var isHeld: Bool {
    guard let whole, whole <= bounds.whole else { return false }
    guard let bound = bounds.noticed else { return true }
    return noticed.map { $0 <= bound } ?? false
  }
}
