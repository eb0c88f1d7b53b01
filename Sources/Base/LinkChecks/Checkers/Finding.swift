public import HoldfastCore

/// A violation of a guarantee.
public struct Finding: Sendable, Hashable, Codable {
  /// The kind of violation, as named in tables, `--json` and the corpus. A feature adds its own
  /// kinds.
  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The name of the kind.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The link was wanted, but nothing was outstanding.
    public static let stuck = Kind(rawValue: "stuck")
    /// There were more connection attempts, requests or refreshes than the policy permits.
    public static let storm = Kind(rawValue: "storm")
    /// The link was shown as connected over a dead connection for longer than the policy permits.
    public static let falselyConnected = Kind(rawValue: "falselyConnected")
    /// An event of an earlier attempt had an effect.
    public static let late = Kind(rawValue: "late")
    /// A live connection was closed, or a request was sent, without a reason.
    public static let needless = Kind(rawValue: "needless")
    /// A token appeared in a place where tokens are forbidden.
    public static let leaked = Kind(rawValue: "leaked")
    /// A collection in memory exceeded its bound.
    public static let unbounded = Kind(rawValue: "unbounded")
    /// A machine broke one of its invariants (`SelfChecking`).
    public static let brokenInvariant = Kind(rawValue: "brokenInvariant")
    /// There were more events than any run needs, in total or at one instant.
    public static let endless = Kind(rawValue: "endless")
    /// Some data or work was incomplete at the end of the time limit for the calm phase.
    public static let unhealed = Kind(rawValue: "unhealed")

    public init(from decoder: any Decoder) throws {
      rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(rawValue)
    }
  }

  /// The kind of violation.
  public var kind: Kind
  /// The time on the world's clock.
  public var at: Instant
  /// A human-readable description of the expected and the observed behavior.
  public var detail: String
  /// The index of the phone whose link violated the guarantee. It is `nil` in a world with one
  /// phone, and if the guarantee is not one of a single link.
  public var phone: Int?

  public init(_ kind: Kind, at: Instant, _ detail: String) {
    self.kind = kind
    self.at = at
    self.detail = detail
  }
}

extension Finding: CustomStringConvertible {
  /// The kind, the time and the detail, such as `storm at 102.3 s: 11 attempts within a minute`.
  public var description: String {
    "\(kind.rawValue) at \(Double(at.nanoseconds / 1_000_000) / 1000) s: \(detail)"
  }
}

/// The findings of a checker, up to a limit. The first few findings are sufficient.
public struct Findings: Sendable, Hashable {
  /// The maximum number of findings.
  public static let limit = 20

  /// The findings, in the order in which they were added.
  public private(set) var all: [Finding] = []

  public init() {}

  /// Adds a finding, unless the limit has been reached.
  public mutating func add(
    _ kind: Finding.Kind, at time: Instant, _ detail: @autoclosure () -> String
  ) {
    if all.count < Self.limit { all.append(Finding(kind, at: time, detail())) }
  }
}

/// A checker that detects collections in memory that exceed the feature's bounds.
struct Bounds<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The bounds that were reported in this run of the process. Each is reported once per run.
  private var reported: [String] = []

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    if case .launched = seen { reported = [] }
  }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    guard phoneState.isAwake else { return }
    Feature.checkBounds(phoneState) { what, count, bound in
      guard !reported.contains(what) else { return }
      reported.append(what)
      found.add(.unbounded, at: phoneState.now, "\(what): \(count), and the bound is \(bound)")
    }
  }
}

// Kinds that several features have.
extension Finding.Kind {
  /// A message that the server accepted was never shown on the phone, and no gap takes its place.
  public static let lost = Finding.Kind(rawValue: "lost")
  /// A message was shown more than once, or a message of the user was accepted more than once.
  public static let duplicated = Finding.Kind(rawValue: "duplicated")
  /// A message was shown out of order, or sent in a different order from that in which it was
  /// written.
  public static let reordered = Finding.Kind(rawValue: "reordered")
  /// A message was shown or acknowledged before it was durable, or a cursor is ahead of the stored
  /// data.
  public static let early = Finding.Kind(rawValue: "early")
  /// A message preceded the greeting on a connection.
  public static let unannounced = Finding.Kind(rawValue: "unannounced")
  /// A message was acknowledged before it was stored on the phone's disk.
  public static let unstored = Finding.Kind(rawValue: "unstored")
  /// A message, an update or stored data does not match the facts.
  public static let untrue = Finding.Kind(rawValue: "untrue")
  /// A question received neither an answer nor a correct error within its deadline.
  public static let unanswered = Finding.Kind(rawValue: "unanswered")
  /// A question received more than one outcome.
  public static let doubled = Finding.Kind(rawValue: "doubled")
}
