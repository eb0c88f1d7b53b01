// A stand-in for Apple's module os that runs on Linux: it records the messages of a logger.
import Synchronization

/// The level of a message.
public struct OSLogType: RawRepresentable, Equatable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }
  public static let `default` = OSLogType(0x00)
  public static let info = OSLogType(0x01)
  public static let debug = OSLogType(0x02)
  public static let error = OSLogType(0x10)
  public static let fault = OSLogType(0x11)
}

/// The rule that decides whether a stored log shows an interpolated value.
public struct OSLogPrivacy: Sendable, Equatable {
  private enum Rule: Sendable { case automatic, isPrivate, isPublic, isSensitive }
  private let rule: Rule
  public static var `public`: OSLogPrivacy { OSLogPrivacy(rule: .isPublic) }
  public static var `private`: OSLogPrivacy { OSLogPrivacy(rule: .isPrivate) }
  public static var sensitive: OSLogPrivacy { OSLogPrivacy(rule: .isSensitive) }
  public static var auto: OSLogPrivacy { OSLogPrivacy(rule: .automatic) }
  /// A string is private unless the program says otherwise.
  var isShown: Bool { rule == .isPublic }
}

/// The width of an interpolated value in a log.
public struct OSLogStringAlignment: Sendable {
  private init() {}
  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
}

/// A message whose values are stored apart from its text.
public struct OSLogInterpolation: StringInterpolationProtocol, Sendable {
  var shown = ""
  var stored = ""
  public init(literalCapacity: Int, interpolationCount: Int) {}
  public mutating func appendLiteral(_ literal: String) {
    shown += literal
    stored += literal
  }
  public mutating func appendInterpolation(
    _ text: @autoclosure @escaping () -> String, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto
  ) {
    shown += text()
    stored += privacy.isShown ? text() : "<private>"
  }
}

public struct OSLogMessage: ExpressibleByStringInterpolation, ExpressibleByStringLiteral, Sendable {
  let parts: OSLogInterpolation
  public init(stringInterpolation: OSLogInterpolation) { parts = stringInterpolation }
  public init(stringLiteral value: String) {
    var parts = OSLogInterpolation(literalCapacity: value.utf8.count, interpolationCount: 0)
    parts.appendLiteral(value)
    self.parts = parts
  }
}

public struct Logger: Sendable {
  private let subsystem: String
  private let category: String
  public init(subsystem: String, category: String) {
    (self.subsystem, self.category) = (subsystem, category)
  }
  public func log(level: OSLogType, _ message: OSLogMessage) {
    let line = LogLine(
      category: category, level: level, stored: message.parts.stored, shown: message.parts.shown)
    lines.withLock { $0[subsystem, default: []].append(line) }
  }
}

private let lines = Mutex<[String: [LogLine]]>([:])

/// A line of the log: the text of a stored log, and the text that a debugger shows.
@_spi(Script) public struct LogLine: Sendable, Equatable {
  public let category: String
  public let level: OSLogType
  public let stored: String
  public let shown: String
}

/// Returns the lines of a subsystem. Tests that run in parallel use different subsystems.
@_spi(Script) public func logLines(of subsystem: String) -> [LogLine] {
  lines.withLock { $0[subsystem] ?? [] }
}
