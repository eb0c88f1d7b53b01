public import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The device's clock since boot. It continues to count while the device sleeps.
///
/// It reads `CLOCK_BOOTTIME` on Linux and the clock of `mach_continuous_time` on Apple platforms.
public struct BootClock: LinkClock {
  /// Creates a clock. All boot clocks of a device show the same time.
  public init() {}

  public var now: Instant {
    #if canImport(Darwin)
      // This is the clock of `mach_continuous_time`.
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

  /// The maximum duration of a single sleep.
  ///
  /// Timers of the continuous clock also count while the device sleeps (on Linux they are timerfds
  /// on `CLOCK_BOOTTIME`). If a timer did not, the wait would be late by at most this duration.
  static let longestSleep = Duration.seconds(30)

  public func wait(until deadline: Instant) async throws(CancellationError) {
    repeat {
      let left = max(now.duration(to: deadline), .zero)
      do {
        // The deadlines of pongs and time windows require a tolerance of zero, and there are few
        // timers.
        try await Task.sleep(
          for: min(left, Self.longestSleep), tolerance: .zero, clock: .continuous)
      } catch {
        throw CancellationError()
      }
    } while now < deadline
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // This fails only for an unknown clock or an invalid address. Neither is possible here.
    guard unsafe clock_gettime(clock, &time) == 0 else {
      preconditionFailure("the system has no clock \(clock)")
    }
    return time
  }
}

/// A source of time: a clock that counts while the device sleeps, and the wall clock.
public protocol LinkClock: Sendable {
  /// The current instant. It never decreases.
  var now: Instant { get }

  /// The time of the wall clock. It can jump, so it is used only for time stamps.
  var wall: Timestamp { get }

  /// Suspends until `now` is at or past `deadline`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, even if `deadline` has passed.
  func wait(until deadline: Instant) async throws(CancellationError)
}
