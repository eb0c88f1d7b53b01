public import LinkCore

/// A promise that was broken.
public struct Finding: Sendable, Hashable, Codable {
  /// The promise: what tables, `--json` and the corpus call it. A feature adds its own.
  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// Its name.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Wanted, and nothing was outstanding.
    public static let stuck = Kind(rawValue: "stuck")
    /// More tries, requests or refreshes than the policy allows.
    public static let storm = Kind(rawValue: "storm")
    /// Connected was shown where nothing could pass, for longer than the policy allows.
    public static let falselyConnected = Kind(rawValue: "falselyConnected")
    /// An event of an older attempt changed something.
    public static let late = Kind(rawValue: "late")
    /// Something that was there was given up, or something was asked for, and nothing made it
    /// necessary.
    public static let needless = Kind(rawValue: "needless")
    /// A token where none may be.
    public static let leaked = Kind(rawValue: "leaked")
    /// More in memory than the bound.
    public static let unbounded = Kind(rawValue: "unbounded")
    /// A machine broke an invariant that it states (`SelfChecking`).
    public static let brokenInvariant = Kind(rawValue: "brokenInvariant")
    /// More happened than any run needs, in all or at one instant.
    public static let endless = Kind(rawValue: "endless")
    /// Not whole within the stated time of calm.
    public static let unhealed = Kind(rawValue: "unhealed")

    public init(from decoder: any Decoder) throws {
      rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(rawValue)
    }
  }

  /// The promise.
  public var kind: Kind
  /// On the clock of the world.
  public var at: Instant
  /// For people: what was expected and what was seen.
  public var detail: String

  public init(_ kind: Kind, at: Instant, _ detail: String) {
    self.kind = kind
    self.at = at
    self.detail = detail
  }
}

/// What a checker found, up to a bound: the first few tell the story.
public struct Findings: Sendable, Hashable {
  /// How many are kept.
  public static let limit = 20

  /// In the order in which they were found.
  public private(set) var all: [Finding] = []

  public init() {}

  /// Keeps one more, unless there are enough.
  public mutating func add(
    _ kind: Finding.Kind, at time: Instant, _ detail: @autoclosure () -> String
  ) {
    if all.count < Self.limit { all.append(Finding(kind, at: time, detail())) }
  }
}

/// Finds more in memory than the feature's bounds allow.
struct Bounds<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// Each bound is reported once in a run of the process.
  private var told: [String] = []

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .launched = seen { told = [] }
  }

  mutating func settled(_ standing: Standing<Feature>) {
    guard standing.isAwake else { return }
    Feature.checkBounds(standing) { what, count, bound in
      guard !told.contains(what) else { return }
      told.append(what)
      found.add(.unbounded, at: standing.now, "\(what): \(count), and the bound is \(bound)")
    }
  }
}
