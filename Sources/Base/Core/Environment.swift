/// The device's network connectivity.
public enum Reachability: Sendable, Hashable, Codable {
  /// There is no usable path.
  case unreachable
  /// There is a path. If `path` changes, traffic takes another route. `traits` can change while the
  /// route stays the same.
  case reachable(path: PathID, traits: PathTraits = [])
  /// There is a path, but a login page answers in place of the server.
  case captivePortal

  /// The cost of the path; empty if no path is usable.
  public var traits: PathTraits {
    switch self {
    case .reachable(_, let traits): traits
    case .unreachable, .captivePortal: []
    }
  }

  /// Returns whether traffic takes the same route, regardless of its cost.
  func isSameWay(as other: Reachability?) -> Bool {
    switch (self, other) {
    case (.reachable(let path, _), .reachable(let before, _)): path == before
    case (.unreachable, .unreachable), (.captivePortal, .captivePortal): true
    case (.reachable, _), (.unreachable, _), (.captivePortal, _): false
    }
  }
}

/// The cost of a path. Long uploads and prefetching wait for a cheap path, but a link does not.
public struct PathTraits: OptionSet, Sendable, Hashable, Codable {
  /// The bit mask, with one bit for each trait.
  public let rawValue: UInt8

  /// Creates traits from a bit mask.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The path uses a mobile network.
  public static let cellular = PathTraits(rawValue: 1)
  /// Data is charged by volume: a mobile network, or another phone's hotspot.
  public static let expensive = PathTraits(rawValue: 2)
  /// The user asks apps to use little data: Low Data Mode on Apple's platforms.
  public static let constrained = PathTraits(rawValue: 4)
  /// The first packet sets up the path: an on-demand VPN.
  public static let onDemand = PathTraits(rawValue: 8)
}

/// An opaque identifier of a network path, derived from the interface, its address and its gateway.
public struct PathID: Sendable, Hashable, Codable {
  /// The text of the identifier, which is compared but never parsed.
  public var name: String

  public init(_ name: String) {
    self.name = name
  }
}

/// Whether the app is in the foreground or in the background.
public enum AppLifecycle: String, Sendable, Hashable, Codable {
  case foreground
  case background
}
