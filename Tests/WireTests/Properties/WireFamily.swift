import HoldfastCore
import HoldfastTestKit
import Testing

/// The decoder and the encoder of one kind of message, and a generator of random messages.
struct WireFamily: Sendable, CustomTestStringConvertible {
  /// A random message in its encoded form.
  struct Drawn {
    var bytes: [UInt8]
    /// A function that returns whether the given bytes are decoded as the same message.
    var isRead: ([UInt8]) throws -> Bool
  }

  let testDescription: String
  /// Whether every error about a member contains the member's name.
  let namesMembers: Bool
  let draw: @Sendable (inout RandomSource) -> Drawn
  /// A function that returns whether the decoded message stays the same when it is encoded and
  /// decoded again. Throws an error if the bytes are not a message.
  let isStable: @Sendable ([UInt8]) throws -> Bool

  /// - Parameter isRaw: Whether messages keep a part of their bytes unchanged.
  init<ShopMessage: Equatable & Sendable>(
    _ name: String, namesMembers: Bool = true, isRaw: Bool = false,
    read: @escaping @Sendable ([UInt8]) throws -> ShopMessage,
    write: @escaping @Sendable (ShopMessage) -> [UInt8],
    random: @escaping @Sendable (inout RandomSource) -> ShopMessage
  ) {
    (testDescription, self.namesMembers) = (name, namesMembers)
    isStable = { bytes in
      let message = try read(bytes)
      return try read(write(message)) == message
    }
    draw = { generator in
      let message = random(&generator)
      let bytes = write(message)
      return Drawn(bytes: bytes) { other in
        let found = try read(other)
        guard isRaw, other != bytes else { return found == message }
        return try JSONTree(write(found)) == JSONTree(bytes)
      }
    }
  }
}
