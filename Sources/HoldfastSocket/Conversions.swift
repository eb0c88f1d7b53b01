public import Foundation
public import HoldfastCore
public import HoldfastPorts

// Conversions between the types of this package, which do not depend on Foundation, and those of
// Foundation.

extension UUID128 {
  /// Creates the same UUID from Foundation's type.
  public init(_ uuid: UUID) {
    let uuid = uuid.uuid
    self = unsafe withUnsafeBytes(of: uuid) { unsafe UUID128(bytes: $0) }
  }

  /// Returns a random UUID of version 4.
  package static func random() -> UUID128 {
    var generator = SystemRandomNumberGenerator()
    return .random(using: &generator)
  }
}

extension UUID {
  /// Creates the same UUID from this package's type.
  public init(_ id: UUID128) {
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &bytes) { unsafe $0.copyBytes(from: id.bytes) }
    self.init(uuid: bytes)
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
