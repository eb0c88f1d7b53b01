public import LinkCore

/// A promise that was broken.
public struct Finding: Sendable, Hashable, Codable {
  /// Which promise: what tables, `--json` and the corpus call it.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// Accepted by the server and never shown, where no gap says so.
    case lost
    /// Shown, or accepted of the user, more than once.
    case duplicated
    case reordered
    /// Wanted, and nothing was outstanding.
    case stuck
    /// More tries, requests or refreshes than the policy allows.
    case storm
    /// Connected was shown where nothing could pass, for longer than the policy allows.
    case falselyConnected
    /// Shown or acknowledged before it was durable, or a cursor beyond what is.
    case early
    /// An event of an older attempt changed something.
    case late
    /// A token where none may be.
    case leaked
    /// More in memory than the bound.
    case unbounded
    /// Not whole within the stated time of calm.
    case unhealed
  }

  /// Which promise was broken.
  public var kind: Kind
  /// When, on the clock of the world.
  public var at: Instant
  /// For people: what was expected and what was seen.
  public var detail: String

  public init(_ kind: Kind, at: Instant, _ detail: String) {
    self.kind = kind
    self.at = at
    self.detail = detail
  }
}

/// Watches a run for one promise.
public protocol Judge: Sendable {
  /// Sees one thing that happened and how things stand right after it.
  mutating func see(_ happening: Happening, _ facts: Facts)
  /// The run is over.
  mutating func conclude(_ facts: Facts)
  /// What was broken so far; at most 20.
  var findings: [Finding] { get }
}
