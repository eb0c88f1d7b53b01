import LinkWire
import Synchronization

/// The frames of a channel as they come in.
final class FrameInput: Sendable {
  private let reader = Mutex(RadioFrameReader())

  /// Returns the frames that are complete, and whether all bytes could be read so far.
  func take(_ bytes: [UInt8]) -> (frames: [RadioFrame], isWhole: Bool) {
    reader.withLock { reader in
      let frames = reader.readable(bytes)
      return (frames, !reader.isBroken)
    }
  }
}
