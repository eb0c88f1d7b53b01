/// The unique number of a line or an exchange in a world.
public typealias TrafficID = UInt64

/// The kind of a host in a world.
public enum HostKind: String, Sendable, Hashable, CaseIterable {
  /// A device with an app whose link is under test.
  case phone
  /// A server.
  case backend
  /// A program that sends requests to a backend, such as an assistant.
  case client
  /// A peripheral in radio range, such as a bottle.
  case peripheral
  /// A phone's operating system, which keeps running when the app is killed.
  case system
}

/// The identity of a host in a world.
public struct HostID: Sendable, Hashable, Comparable {
  /// The kind of the host.
  public let kind: HostKind
  /// The index among the hosts of its kind, from 0.
  public let index: Int
  /// The index among all hosts of the world.
  package let slot: Int

  package init(kind: HostKind, index: Int, slot: Int) {
    (self.kind, self.index, self.slot) = (kind, index, slot)
  }

  /// The first phone of every world.
  public static let phone = HostID(kind: .phone, index: 0, slot: 0)

  public static func < (left: HostID, right: HostID) -> Bool { left.slot < right.slot }
}
