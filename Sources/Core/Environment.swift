/// What the device says about its way out.
public enum Reachability: Sendable, Hashable, Codable {
  /// No usable path.
  case unreachable
  /// A path exists. Two different values of `path` mean that traffic goes another way now; what
  /// it costs may change without that.
  case reachable(path: PathID, traits: PathTraits = [])
  /// A path exists, but a login page answers in the server's place.
  case captivePortal

  /// What the path costs; nothing is known of it without one.
  public var traits: PathTraits {
    switch self {
    case .reachable(_, let traits): traits
    case .unreachable, .captivePortal: []
    }
  }

  /// Whether traffic goes the same way, whatever it costs.
  func isSameWay(as other: Reachability?) -> Bool {
    switch (self, other) {
    case (.reachable(let path, _), .reachable(let before, _)): path == before
    case (.unreachable, .unreachable), (.captivePortal, .captivePortal): true
    case (.reachable, _), (.unreachable, _), (.captivePortal, _): false
    }
  }
}

/// What a way out costs. Long uploads and prefetching wait for a cheap one; a link does not.
public struct PathTraits: OptionSet, Sendable, Hashable, Codable {
  /// One bit for each trait.
  public let rawValue: UInt8

  /// Traits from their bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// It goes over a mobile network.
  public static let cellular = PathTraits(rawValue: 1)
  /// Each byte costs: a mobile network, or another phone's hotspot.
  public static let expensive = PathTraits(rawValue: 2)
  /// The user asks apps to use little of it: Low Data Mode on Apple's platforms.
  public static let constrained = PathTraits(rawValue: 4)
  /// It is set up by the first packet: a VPN on demand.
  public static let onDemand = PathTraits(rawValue: 8)
}

/// Names one way out of the device: interface, its address and its gateway, in one opaque word.
public struct PathID: Sendable, Hashable, Codable {
  /// The word itself; compared, never taken apart.
  public var name: String

  public init(_ name: String) {
    self.name = name
  }
}

/// Whether a person looks at the app.
public enum Lifecycle: String, Sendable, Hashable, Codable {
  case foreground
  case background
}
