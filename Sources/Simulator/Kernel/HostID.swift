/// What a host of a world is.
public enum HostKind: String, Sendable, Hashable, CaseIterable {
  /// A device with an app whose link is under test.
  case phone
  /// A server.
  case backend
  /// A program that asks a backend, such as an assistant.
  case client
  /// A peripheral in radio range, such as a bottle.
  case peripheral
  /// A phone's operating system: it survives kills of the app.
  case system
}

/// The name of one host of a world.
public struct HostID: Sendable, Hashable, Comparable {
  /// What the host is.
  public let kind: HostKind
  /// Its number among the hosts of its kind, from 0.
  public let index: Int
  /// Its place among all hosts of the world.
  let place: Int

  /// The first phone of every world.
  public static let phone = HostID(kind: .phone, index: 0, place: 0)

  public static func < (left: HostID, right: HostID) -> Bool { left.place < right.place }
}
