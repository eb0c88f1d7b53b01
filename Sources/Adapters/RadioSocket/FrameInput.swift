import LinkWire
import Synchronization

/// The frames of a channel as they come in.
final class FrameInput: Sendable {
  private let reader = Mutex(RadioFrameReader())

  /// Returns the frames that are complete; `nil` if the bytes are no frames.
  func take(_ bytes: [UInt8]) -> [RadioFrame]? {
    reader.withLock { reader in
      do throws(RadioFault) {
        return try reader.take(bytes)
      } catch {
        return nil
      }
    }
  }
}
