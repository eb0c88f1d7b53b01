public import HoldfastCore
import Synchronization

extension ShopStream {
  /// The progress of the upload of an image.
  public struct ImageProgress: Sendable, Hashable {
    /// The id of the message's entry in the outbox.
    public var entry: UUID128
    /// The number of bytes that the server has received.
    public var sent: Int
    /// The number of bytes of the current request. The server's answer to it counts them as sent.
    public var pending: Int
    /// The size of the image in bytes.
    public var size: Int

    /// Creates a value.
    public init(entry: UUID128, sent: Int, pending: Int, size: Int) {
      (self.entry, self.sent, self.pending, self.size) = (entry, sent, pending, size)
    }
  }
}

/// The readers of the progress of all uploads of a stream. A slow reader gets the newest values only.
final class ImageProgressFeed: Sendable {
  private struct State {
    var readers: [UInt64: AsyncStream<ShopStream.ImageProgress>.Continuation] = [:]
    var last: UInt64 = 0
    var isEnded = false
  }

  private static let most = 16
  private let state = Mutex(State())

  /// Returns the values that follow. The sequence ends with the stream of messages.
  func values() -> AsyncStream<ShopStream.ImageProgress> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ShopStream.ImageProgress.self, bufferingPolicy: .bufferingNewest(Self.most))
    let id: UInt64? = state.withLock { state in
      guard !state.isEnded else { return nil }
      state.last += 1
      state.readers[state.last] = continuation
      return state.last
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.readers.removeValue(forKey: id) }
    }
    return stream
  }

  func report(_ progress: ShopStream.ImageProgress) {
    let readers = state.withLock { Array($0.readers.values) }
    for reader in readers { reader.yield(progress) }
  }

  func end() {
    let readers = state.withLock { state in
      state.isEnded = true
      defer { state.readers = [:] }
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }
}
