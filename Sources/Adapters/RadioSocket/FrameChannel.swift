import Dispatch
import LinkWire
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connected socket that carries frames. Its handlers run on the queue that it was given.
final class FrameChannel: Sendable {
  private struct State {
    var watch: Watch?
    var isEnded = false
  }

  private let descriptor: Int32
  private let state = Mutex(State())

  /// Begins to read; to be called on the queue.
  ///
  /// - Parameters:
  ///   - taken: called with each frame, in order.
  ///   - ended: called once when the other end is gone or speaks something else.
  init(
    _ descriptor: Int32, on queue: DispatchQueue,
    taken: @escaping @Sendable (RadioFrame) -> Void, ended: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    let input = FrameInput()
    let watch = Watch(reading: descriptor, on: queue) { [weak self] in
      // Everything at once: after the other end has closed, the queue calls this only one time.
      while self?.isOpen == true, let bytes = LocalSocket.read(descriptor) {
        let (frames, isWhole) = input.take(bytes)
        // What came before bytes that are no frame happened.
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

  /// Sends a frame; one that the other end does not take ends the channel.
  func send(_ frame: RadioFrame) {
    guard isOpen else { return }
    if !LocalSocket.write(frame.bytes, to: descriptor) { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Ends it; nothing is reported any more.
  func end() {
    let watch = state.withLock { state in
      state.isEnded = true
      defer { state.watch = nil }
      return state.watch
    }
    watch?.cancel()
  }
}

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
