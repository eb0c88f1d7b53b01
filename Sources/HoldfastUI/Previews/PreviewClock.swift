import Holdfast
import HoldfastCore
import HoldfastPorts

/// A clock that stands at 10 o'clock on the first day of September 2026, for previews.
struct PreviewClock: LinkClock {
  let now = Instant.zero
  let wall = Timestamp.sample(minute: 600)

  func wait(until deadline: Instant) async throws(CancellationError) {
    let (never, end) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    end.finish()
    throw CancellationError()
  }
}

extension Timestamp {
  /// Creates a time on the first day of September 2026.
  static func sample(minute: Int) -> Timestamp {
    Timestamp(nanoseconds: (1_788_220_800 + Int64(minute) * 60) * 1_000_000_000)
  }
}
