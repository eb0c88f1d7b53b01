import HoldfastTestKit
import LinkCore
import Testing

/// The reader and the writer of one kind of message, with a generator of random messages.
struct WireFamily: Sendable, CustomTestStringConvertible {
  /// A random message in its written form.
  struct Drawn {
    var bytes: [UInt8]
    /// Whether the given bytes are read as the same message.
    var isRead: ([UInt8]) throws -> Bool
  }

  let testDescription: String
  /// Whether each error about a member names the member.
  let namesMembers: Bool
  let draw: @Sendable (inout RandomSource) -> Drawn
  /// Whether the message in the given bytes stays the same when it is written and read again.
  /// Throws if the bytes are not a message.
  let isStable: @Sendable ([UInt8]) throws -> Bool

  /// - Parameter isRaw: Whether messages keep a part of their bytes exactly as it was read.
  init<Message: Equatable & Sendable>(
    _ name: String, namesMembers: Bool = true, isRaw: Bool = false,
    read: @escaping @Sendable ([UInt8]) throws -> Message,
    write: @escaping @Sendable (Message) -> [UInt8],
    random: @escaping @Sendable (inout RandomSource) -> Message
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
