public import LinkCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The device's clock since boot, which keeps counting while the device sleeps.
///
/// Reads `CLOCK_BOOTTIME` on Linux and `mach_continuous_time` on Apple.
public struct BootClock: LinkClock {
  /// Creates a clock. All boot clocks of a device show the same time.
  public init() {}

  public var now: Instant {
    #if canImport(Darwin)
      // The clock behind `mach_continuous_time`.
      let time = Self.read(CLOCK_MONOTONIC_RAW)
    #else
      let time = Self.read(CLOCK_BOOTTIME)
    #endif
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  public var wall: Timestamp {
    let time = Self.read(CLOCK_REALTIME)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  /// The longest single sleep.
  ///
  /// Timers of the continuous clock count while the device sleeps (on Linux they are timerfds on
  /// `CLOCK_BOOTTIME`). If one does not, the wait is late by at most this time.
  static let longestSleep = Duration.seconds(30)

  public func wait(until deadline: Instant) async throws(CancellationError) {
    repeat {
      let left = max(now.duration(to: deadline), .zero)
      do {
        // Pongs and windows need a tolerance of zero, and there are few timers.
        try await Task.sleep(
          for: min(left, Self.longestSleep), tolerance: .zero, clock: .continuous)
      } catch {
        throw CancellationError()
      }
    } while now < deadline
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // Fails only for an unknown clock or a bad address, neither of which is possible here.
    guard unsafe clock_gettime(clock, &time) == 0 else {
      preconditionFailure("the system has no clock \(clock)")
    }
    return time
  }
}

/// The source of time: a clock that counts while the device sleeps, and the wall clock.
public protocol LinkClock: Sendable {
  /// The current moment, which never decreases.
  var now: Instant { get }

  /// The time of the wall clock, for time stamps only since it can jump.
  var wall: Timestamp { get }

  /// Suspends until `now` is at or past `deadline`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, even if `deadline` has passed.
  func wait(until deadline: Instant) async throws(CancellationError)
}
