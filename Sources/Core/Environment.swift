/// What the device says about its way out.
public enum Reachability: Sendable, Hashable, Codable {
  /// No usable path.
  case unreachable
  /// A path exists. Two different values of `path` mean that traffic goes another way now.
  case reachable(path: PathID)
  /// A path exists, but a login page answers in the server's place.
  case captivePortal
}

/// Names one way out of the device: interface, its address and its gateway, in one opaque word.
public struct PathID: Sendable, Hashable, Codable {
  /// The word itself; compared, never taken apart.
  public var name: String

  public init(_ name: String) {
    self.name = name
  }

  public init(from decoder: any Decoder) throws {
    name = try decoder.singleValueContainer().decode(String.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// Whether a person looks at the app.
public enum Lifecycle: String, Sendable, Hashable, Codable {
  case foreground
  case background
}
