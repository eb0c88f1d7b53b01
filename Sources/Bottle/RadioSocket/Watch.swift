import Dispatch
import Synchronization

/// A watch of a descriptor or a timer. It lasts until `cancel`.
final class Watch: Sendable {
  private let reading: Mutex<(any DispatchSourceRead)?>
  private let timer: Mutex<(any DispatchSourceTimer)?>

  /// Calls `handler` whenever a descriptor is readable. The descriptor is closed after `cancel`.
  init(
    reading descriptor: Int32, on queue: DispatchQueue, handler: @escaping @Sendable () -> Void
  ) {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { handler() }
    source.setCancelHandler { LocalSocket.end(descriptor) }
    source.activate()
    reading = Mutex(source)
    timer = Mutex(nil)
  }

  /// Calls `handler` once a second.
  init(everySecondOn queue: DispatchQueue, handler: @escaping @Sendable () -> Void) {
    let source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .now() + 1, repeating: 1)
    source.setEventHandler { handler() }
    source.activate()
    timer = Mutex(source)
    reading = Mutex(nil)
  }

  /// Stops calling the handler.
  func cancel() {
    reading.withLock { source in
      source?.cancel()
      source = nil
    }
    timer.withLock { source in
      source?.cancel()
      source = nil
    }
  }
}
