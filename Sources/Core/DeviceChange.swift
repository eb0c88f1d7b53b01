/// A change of the device that machines are told.
public enum DeviceChange: Sendable, Hashable, Codable {
  case reachability(Reachability)
  case lifecycle(Lifecycle)
  case woke
  /// Another try is asked for, by SIGHUP for example.
  case again
}

extension HeldLink.Input {
  /// What a change of the device means for a link that is wanted.
  public init(_ change: DeviceChange) {
    switch change {
    case .reachability(let reachability): self = .reachability(reachability)
    case .lifecycle(let lifecycle): self = .lifecycle(lifecycle)
    case .woke: self = .trigger(.woke)
    case .again: self = .want(.live)
    }
  }
}
