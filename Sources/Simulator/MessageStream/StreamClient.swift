public import LinkCore
public import MessageStream

/// A client of one shop that the simulator can play: the model of this package, or a user's own.
///
/// It has the inputs and effects of `StreamModel`. The other requirements let checkers inspect its
/// state.
public protocol StreamClient: LinkClient
where Input == StreamModel.Input, Effect == StreamModel.Effect {
  /// Creates a client as it is launched; `seed` initializes its random source.
  init(settings: StreamSettings, seed: UInt64)

  /// Whether everything that the server is known to have is stored and shown.
  var isWhole: Bool { get }
  /// The client's memory use.
  var memoryUse: MemoryUse { get }
}

extension StreamClient {
  /// Returns the client's completeness and memory use. Mutating for the same reason as `glance()`.
  mutating func holdings() -> (isWhole: Bool, memoryUse: MemoryUse) { (isWhole, memoryUse) }
}

/// The number of items that a client holds in memory. Each number has a bound.
public struct MemoryUse: Sendable, Hashable {
  /// The number of messages in the timeline.
  public var shown: Int
  /// The number of the user's messages that wait to be sent, or failed.
  public var unsent: Int
  /// The number of messages that wait for the store.
  public var unstored: Int
  /// The number of known offsets beyond the cursor.
  public var ahead: Int

  public init(shown: Int, unsent: Int, unstored: Int, ahead: Int) {
    self.shown = shown
    self.unsent = unsent
    self.unstored = unstored
    self.ahead = ahead
  }
}
