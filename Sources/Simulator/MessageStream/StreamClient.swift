public import LinkCore
public import MessageStream

/// A model of one shop that can be played in the world of message streams: the one of this package,
/// or a user's own.
///
/// It has the inputs and effects of `StreamModel`; the other requirements let checkers look inside.
public protocol StreamClient: LinkClient
where Input == StreamModel.Input, Effect == StreamModel.Effect {
  /// A client that was just launched; `seed` is the start of its chance.
  init(settings: StreamSettings, seed: UInt64)

  /// Whether everything that the server was known to have is stored and shown.
  var isWhole: Bool { get }
  /// How much it holds in memory.
  var memoryUse: MemoryUse { get }
}

extension StreamClient {
  /// What it has and holds. Mutating for the same reason as `glance()`.
  mutating func holdings() -> (isWhole: Bool, memoryUse: MemoryUse) { (isWhole, memoryUse) }
}

/// How much a client holds in memory; each has a bound.
public struct MemoryUse: Sendable, Hashable {
  /// Messages in the timeline.
  public var shown: Int
  /// Messages of the user that wait to be sent, or failed.
  public var unsent: Int
  /// Messages that wait for the store.
  public var unstored: Int
  /// Offsets that it knows beyond its cursor.
  public var ahead: Int

  public init(shown: Int, unsent: Int, unstored: Int, ahead: Int) {
    self.shown = shown
    self.unsent = unsent
    self.unstored = unstored
    self.ahead = ahead
  }
}
