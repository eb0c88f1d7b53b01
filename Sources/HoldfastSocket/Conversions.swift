public import Foundation
public import HoldfastCore
public import HoldfastPorts

// Conversions between the types of this package, which do not depend on Foundation, and those of
// Foundation.

extension UUID128 {
  /// Creates the same UUID from Foundation's type.
  public init(_ uuid: UUID) {
    let bytes = uuid.uuid
    let first = [
      bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7,
    ]
    let last = [
      bytes.8, bytes.9, bytes.10, bytes.11, bytes.12, bytes.13, bytes.14, bytes.15,
    ]
    self.init(high: Self.word(first), low: Self.word(last))
  }

  /// Returns a random UUID of version 4.
  package static func random() -> UUID128 {
    var generator = SystemRandomNumberGenerator()
    return .random(using: &generator)
  }

  private static func word(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension UUID {
  /// Creates the same UUID from this package's type.
  public init(_ id: UUID128) {
    func byte(_ word: UInt64, _ index: Int) -> UInt8 {
      UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * index))
    }
    let (high, low) = (id.high, id.low)
    self.init(
      uuid: (
        byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
        byte(high, 6), byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
        byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
      ))
  }
}

extension Date {
  /// Creates a date from a timestamp. A date is precise to about a microsecond.
  public init(_ timestamp: Timestamp) {
    self.init(timeIntervalSince1970: Double(timestamp.nanoseconds) / 1e9)
  }
}

extension Timestamp {
  /// Creates a timestamp from a date, rounded to microseconds and limited to the years 1678 to 2261.
  public init(_ date: Date) {
    // Larger numbers, and a number that is none, could not be converted to an integer.
    let seconds = min(max(-1e12, date.timeIntervalSince1970), 1e12)
    let whole = seconds.rounded(.down)
    let microseconds = ((seconds - whole) * 1e6).rounded()
    let carry = microseconds < 1e6 ? 0.0 : 1.0
    self.init(
      seconds: Int64(whole + carry), nanoseconds: Int64(microseconds - carry * 1e6) * 1_000)
  }
}

extension SocketMessage {
  /// Creates a binary message.
  public init(_ data: Data) { self.init(binary: Array(data)) }

  /// The content, which is UTF-8 for a text message; `nil` in a message that was read from a
  /// journal.
  public var data: Data? { bytes.map { Data($0) } }
}

extension LinkStatus {
  /// Returns the time until the next attempt; `nil` if none is scheduled.
  ///
  /// - Parameter clock: The clock of the link's ports, if it has another one than the device's.
  public func retryIn(on clock: any LinkClock = BootClock()) -> Duration? {
    retryIn(at: clock.now)
  }
}

extension LinkFailure: LocalizedError {
  /// The description of the failure.
  public var errorDescription: String? { description }
}

extension StoreFailure: LocalizedError {
  /// The description of the failure.
  public var errorDescription: String? { description }
}

extension PolicyError: LocalizedError {
  /// The description of the problems.
  public var errorDescription: String? { description }
}

extension JournalError: LocalizedError {
  /// The description of the problem, with its remedy.
  public var errorDescription: String? { description }
}
