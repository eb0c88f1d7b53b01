public import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastMessageStream
import HoldfastWorldKernel

/// A client of one shop that the simulator can run: this package's model or a custom one.
///
/// It has the inputs and effects of `StreamModel`. The other requirements let checkers inspect its
/// state.
public protocol StreamClient: LinkClient
where Input == StreamModel.Input, Effect == StreamModel.Effect {
  /// Creates a client at its launch. `seed` initializes the client's random source.
  init(settings: StreamSettings, seed: UInt64)

  /// Whether everything that the server is known to have is stored and shown.
  var isWhole: Bool { get }
  /// The client's memory use.
  var memoryUse: MemoryUse { get }
}

extension StreamClient {
  /// Returns `isWhole` and `memoryUse`.
  ///
  /// This method is mutating for the same reason as `glance()`.
  mutating func holdings() -> (isWhole: Bool, memoryUse: MemoryUse) { (isWhole, memoryUse) }
}
