/// The messages of a durable outbox, as a store keeps them.
public struct KeptOutbox: Sendable, Hashable {
  private var entries: [UInt64: ProvenQueue.Entry] = [:]

  /// An empty outbox.
  public init() {}

  /// All messages, in the order of their ids.
  public var all: [ProvenQueue.Entry] { entries.values.sorted { $0.id < $1.id } }

  /// Keeps a message; one of the same id is replaced.
  public mutating func add(_ entry: ProvenQueue.Entry) { entries[entry.id] = entry }

  /// Removes messages; unknown ids are ignored.
  public mutating func remove(_ ids: [UInt64]) {
    for id in ids { entries[id] = nil }
  }
}
