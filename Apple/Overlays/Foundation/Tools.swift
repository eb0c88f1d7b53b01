// Further parts of the Swift half of Apple's module Foundation, which tests use. The signatures are
// from https://developer.apple.com/documentation/foundation
public struct DateComponents: Sendable, Hashable {
  public init(
    calendar: Calendar? = nil, timeZone: TimeZone? = nil, era: Int? = nil, year: Int? = nil,
    month: Int? = nil, day: Int? = nil, hour: Int? = nil, minute: Int? = nil, second: Int? = nil
  ) {}
  public func isValidDate(in calendar: Calendar) -> Bool { false }
}

public struct DateInterval: Sendable, Hashable {
  public var start: Date
  public var end: Date
  public func contains(_ date: Date) -> Bool { false }
}

open class ISO8601DateFormatter {
  public init() {}
  open var timeZone: TimeZone?
  open func string(from date: Date) -> String { "" }
}

open class JSONSerialization {
  public struct ReadingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }
  open class func jsonObject(with data: Data, options: ReadingOptions = []) throws -> Any { 0 }
}

public struct CharacterSet: Sendable, Hashable {
  public static var whitespaces: CharacterSet { CharacterSet() }
}

extension StringProtocol {
  public func components<T: StringProtocol>(separatedBy separator: T) -> [String] { [] }
  public func range<T: StringProtocol>(
    of text: T, options: String.CompareOptions = [], range: Range<Index>? = nil
  ) -> Range<Index>? { nil }
  public func replacingOccurrences<Target: StringProtocol, Replacement: StringProtocol>(
    of target: Target, with replacement: Replacement, options: String.CompareOptions = [],
    range: Range<Index>? = nil
  ) -> String { "" }
  public func trimmingCharacters(in set: CharacterSet) -> String { "" }
}

extension String {
  public struct CompareOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }
}

#if os(macOS)
  open class Pipe: @unchecked Sendable {
    public init() {}
    open var fileHandleForReading: FileHandle { FileHandle() }
  }

  open class Process: @unchecked Sendable {
    public init() {}
    open var executableURL: URL?
    open var arguments: [String]?
    open var standardOutput: Any?
    open var standardError: Any?
    open var terminationStatus: Int32 { 0 }
    open func run() throws {}
    open func waitUntilExit() {}
  }
#endif
