import Dispatch
import HoldfastBottleData
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connected socket that carries frames. Its handlers run on the queue passed to the initializer.
final class FrameChannel: Sendable {
  private struct State {
    var watch: Watch?
    var isEnded = false
  }

  private let descriptor: Int32
  private let state = Mutex(State())

  /// Starts to read from the socket. It must be called on the queue.
  ///
  /// - Parameters:
  ///   - taken: A function that is called with each frame, in order.
  ///   - ended: A function that is called once when the peer is gone or has sent bytes that are not
  ///     frames.
  init(
    _ descriptor: Int32, on queue: DispatchQueue,
    taken: @escaping @Sendable (RadioFrame) -> Void, ended: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    let input = FrameInput()
    let watch = Watch(reading: descriptor, on: queue) { [weak self] in
      // All available bytes are read, because the queue calls this only once after the peer has
      // closed.
      while self?.isOpen == true, let bytes = LocalSocket.read(descriptor) {
        let (frames, isWhole) = input.take(bytes)
        // Frames that precede invalid bytes are still valid.
        for frame in frames { taken(frame) }
        guard self?.isOpen == true else { return }
        guard !bytes.isEmpty, isWhole else {
          self?.end()
          return ended()
        }
      }
    }
    state.withLock { $0.watch = watch }
  }

  private var isOpen: Bool { state.withLock { !$0.isEnded } }

  /// Sends a frame. Ends the channel if the peer does not accept the frame.
  func send(_ frame: RadioFrame) {
    guard isOpen else { return }
    if !LocalSocket.write(frame.bytes, to: descriptor) { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Ends the channel. It calls no handler after this.
  func end() {
    let watch = state.withLock { state in
      state.isEnded = true
      defer { state.watch = nil }
      return state.watch
    }
    watch?.cancel()
  }
}

/// The parser of the frames that a channel receives.
final class FrameInput: Sendable {
  private let reader = Mutex(RadioFrameReader())

  /// Returns the complete frames, and whether all bytes received so far are valid.
  func take(_ bytes: [UInt8]) -> (frames: [RadioFrame], isWhole: Bool) {
    reader.withLock { reader in
      let frames = reader.readable(bytes)
      return (frames, !reader.isBroken)
    }
  }
}
