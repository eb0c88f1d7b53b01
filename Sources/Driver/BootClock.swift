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

/// The device's clock since it booted; counts while the device sleeps.
///
/// Reads `CLOCK_BOOTTIME` on Linux and `mach_continuous_time` on Apple.
public struct BootClock: LinkClock {
  /// Every boot clock of a device shows the same time.
  public init() {}

  public var now: Instant {
    #if canImport(Darwin)
      // The clock of `mach_continuous_time`.
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

  /// One sleep is never longer. The continuous clock's timers count through sleep (on Linux they
  /// are timerfds on `CLOCK_BOOTTIME`); should one stand still, it is late by this at the most.
  static let longestSleep = Duration.seconds(30)

  public func wait(until deadline: Instant) async throws(CancellationError) {
    repeat {
      let left = max(now.duration(to: deadline), .zero)
      do {
        // The tolerance of zero matters for pongs and windows; there are few timers.
        try await Task.sleep(
          for: min(left, Self.longestSleep), tolerance: .zero, clock: .continuous)
      } catch {
        throw CancellationError()
      }
    } while now < deadline
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // Fails only for an unknown clock or a bad address; both are excluded here.
    guard unsafe clock_gettime(clock, &time) == 0 else {
      preconditionFailure("the system has no clock \(clock)")
    }
    return time
  }
}

/// The one source of time: a clock that counts through sleep, and the wall clock beside it.
public protocol LinkClock: Sendable {
  /// This moment; never goes back.
  var now: Instant { get }

  /// The wall clock's time, for stamps only: it may jump.
  var wall: Timestamp { get }

  /// Returns when `now` is at or past `deadline`, never before.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first, also for a past deadline.
  func wait(until deadline: Instant) async throws(CancellationError)
}
