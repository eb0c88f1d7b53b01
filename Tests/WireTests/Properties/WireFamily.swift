import HoldfastTestKit
import LinkCore
import Testing

/// The reader and the writer of one kind of messages, with a generator of random ones.
struct WireFamily: Sendable, CustomTestStringConvertible {
  /// A random message as it was written.
  struct Drawn {
    var bytes: [UInt8]
    /// Whether other bytes are read as the same message.
    var isRead: ([UInt8]) throws -> Bool
  }

  let testDescription: String
  /// Whether each error about a member names it.
  let namesMembers: Bool
  let draw: @Sendable (inout Chance) -> Drawn
  /// Whether bytes are a message that is read again as it is written; throws if they are none.
  let isStable: @Sendable ([UInt8]) throws -> Bool

  /// - Parameter isRaw: Whether messages hold a piece of their bytes as it was read.
  init<Message: Equatable & Sendable>(
    _ name: String, namesMembers: Bool = true, isRaw: Bool = false,
    read: @escaping @Sendable ([UInt8]) throws -> Message,
    write: @escaping @Sendable (Message) -> [UInt8],
    random: @escaping @Sendable (inout Chance) -> Message
  ) {
    (testDescription, self.namesMembers) = (name, namesMembers)
    isStable = { bytes in
      let message = try read(bytes)
      return try read(write(message)) == message
    }
    draw = { chance in
      let message = random(&chance)
      let bytes = write(message)
      return Drawn(bytes: bytes) { other in
        let found = try read(other)
        guard isRaw, other != bytes else { return found == message }
        return try JSONTree(write(found)) == JSONTree(bytes)
      }
    }
  }
}
