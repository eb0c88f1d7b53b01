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
  private let descriptor: Int32
  private let watch = Mutex<Watch?>(nil)

  /// Begins to read.
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
      guard let bytes = LocalSocket.read(descriptor) else { return }
      guard !bytes.isEmpty, let frames = input.take(bytes) else {
        self?.end()
        ended()
        return
      }
      for frame in frames { taken(frame) }
    }
    self.watch.withLock { $0 = watch }
  }

  /// Sends a frame; one that the other end does not take ends the channel.
  func send(_ frame: RadioFrame) {
    if !LocalSocket.write(frame.bytes, to: descriptor) { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Ends it; nothing is reported any more.
  func end() { watch.withLock { $0 }?.cancel() }
}
