public import LinkWire

/// What survives a kill: a durable store of one shop as a value.
public struct Disk: Sendable, Hashable {
  /// Everything that is kept, by id.
  public private(set) var messages: [MessageID: Message] = [:]
  /// The keys of the same, in timeline order.
  public private(set) var ordered: [TimelineKey] = []
  public private(set) var cursor = Cursor()
  public private(set) var gaps: [Gap] = []
  public private(set) var outbox: [OutboxEntry] = []

  public init() {}
}
