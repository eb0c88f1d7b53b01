// The parts of Apple's module Foundation that the checks use. The signatures are from
// https://developer.apple.com/documentation/foundation
@_exported public import Dispatch
#if canImport(ObjectiveC)
  @_exported public import ObjectiveC
  @objc open class NSError: NSObject {}
  public class NSString: NSObject {}
  public class NSArray: NSObject {}
  public class NSDictionary: NSObject {}
  extension String: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSString { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSString, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> Self {
      fatalError()
    }
  }
  extension Array: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSArray { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSArray, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSArray, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSArray?) -> Self {
      fatalError()
    }
  }
  extension Dictionary: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSDictionary { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSDictionary, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSDictionary, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDictionary?) -> Self {
      fatalError()
    }
  }
#endif

public typealias TimeInterval = Double

public struct Data: Sendable, Hashable, RandomAccessCollection {
  public init() {}
  public init(_ bytes: some Sequence<UInt8>) {}
  public init(contentsOf url: URL) throws {}
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(i: Int) -> UInt8 { 0 }
  public func write(to url: URL) throws {}
}

open class JSONDecoder: @unchecked Sendable {
  public init() {}
  open func decode<T: Decodable>(_ t: T.Type, from d: Data) throws -> T { fatalError() }
}

open class JSONEncoder: @unchecked Sendable {
  public struct OutputFormatting: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let sortedKeys = OutputFormatting(rawValue: 1)
    public static let withoutEscapingSlashes = OutputFormatting(rawValue: 2)
    public static let prettyPrinted = OutputFormatting(rawValue: 4)
  }
  public init() {}
  open var outputFormatting: OutputFormatting = []
  open func encode<T: Encodable>(_ t: T) throws -> Data { Data() }
}

public struct Date: Sendable, Hashable, Comparable, Codable {
  public init() {}
  public init(timeIntervalSince1970: TimeInterval) {}
  public static var now: Date { Date() }
  public var timeIntervalSince1970: TimeInterval { 0 }
  public static func < (l: Date, r: Date) -> Bool { false }
}

public struct UUID: Hashable, Sendable, Codable {
  public init() {}
  public init?(uuidString: String) {}
  public init(uuid: uuid_t) {}
  public var uuidString: String { "" }
  public var uuid: uuid_t { fatalError() }
}

public typealias uuid_t = (
  UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8,
  UInt8, UInt8
)

public protocol CustomNSError: Error {}

#if os(Android)
  public final class NSError: Error {}
#endif

extension Error {
  public var localizedDescription: String { "" }
}

public protocol LocalizedError: Error {
  var errorDescription: String? { get }
}

extension LocalizedError {
  public var errorDescription: String? { nil }
}

public struct TimeZone: Sendable, Hashable {
  public init?(identifier: String) {}
  public var identifier: String { "" }
  public func secondsFromGMT(for: Date = Date()) -> Int { 0 }
  public static var current: TimeZone { fatalError() }
}

public struct URL: Sendable, Hashable, Codable {
  public enum DirectoryHint: Sendable {
    case isDirectory, notDirectory, checkFileSystem, inferFromPath
  }
  public init?(string: String) {}
  @available(iOS 16.0, macOS 13.0, watchOS 9.0, *)
  public init(
    filePath: String, directoryHint: DirectoryHint = .inferFromPath, relativeTo: URL? = nil
  ) {}
  public var path: String { "" }
  @available(iOS 16.0, macOS 13.0, watchOS 9.0, *)
  public func path(percentEncoded: Bool = true) -> String { "" }
  public var host: String? { nil }
  public var scheme: String? { nil }
  public var isFileURL: Bool { false }
  public var absoluteString: String { "" }
  @available(iOS 16.0, macOS 13.0, watchOS 9.0, *)
  public func appending(path: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath)
    -> URL
  { self }
}

public struct URLComponents: Sendable, Hashable {
  public init?(string: String) {}
  public var scheme: String?
  public var host: String?
  public var user: String?
  public var port: Int?
  public var path: String = ""
  public var query: String?
  public var fragment: String?
  public var string: String? { nil }
}

open class FileHandle: @unchecked Sendable {
  public init() {}
  open class var standardError: FileHandle { FileHandle() }
  public func write<T: Sequence<UInt8>>(contentsOf data: T) throws {}
}

public struct CocoaError: Error {
  public struct Code: Sendable, Hashable {}
  public static var fileReadNoSuchFile: Code { Code() }
}

extension CocoaError.Code {
  public static func ~= (pattern: CocoaError.Code, error: any Error) -> Bool { false }
}

public struct FileAttributeKey: Hashable, Sendable {
  public static let posixPermissions = FileAttributeKey()
}

open class FileManager: @unchecked Sendable {
  open class var `default`: FileManager { FileManager() }
  public init() {}
  public enum SearchPathDirectory: UInt, Sendable { case applicationSupportDirectory }
  public struct SearchPathDomainMask: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let userDomainMask = SearchPathDomainMask(rawValue: 1)
  }
  open func urls(for d: SearchPathDirectory, in m: SearchPathDomainMask) -> [URL] { [] }
  open var temporaryDirectory: URL { fatalError() }
  open func contents(atPath: String) -> Data? { nil }
  open func contentsOfDirectory(atPath path: String) throws -> [String] { [] }
  open func createDirectory(
    atPath: String, withIntermediateDirectories: Bool, attributes: [FileAttributeKey: Any]? = nil
  ) throws {}
  open func createDirectory(
    at url: URL, withIntermediateDirectories: Bool, attributes: [FileAttributeKey: Any]? = nil
  ) throws {}
  open func createFile(
    atPath: String, contents: Data?, attributes: [FileAttributeKey: Any]? = nil
  ) -> Bool { false }
  open func removeItem(atPath path: String) throws {}
  open func isExecutableFile(atPath path: String) -> Bool { false }
  open func fileExists(atPath path: String) -> Bool { false }
  open func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { [:] }
}

extension String {
  public var removingPercentEncoding: String? { nil }
  public struct Encoding: Sendable { public static let utf8 = Encoding() }
  public init(contentsOfFile path: String, encoding: Encoding) throws { self = "" }
}

open class Thread: @unchecked Sendable {
  public init() {}
  open class func detachNewThread(_ block: @escaping @Sendable () -> Void) {}
  open class var current: Thread { Thread() }
}

open class ProcessInfo: @unchecked Sendable {
  public init() {}
  open class var processInfo: ProcessInfo { ProcessInfo() }
  open var activeProcessorCount: Int { 1 }
  open var environment: [String: String] { [:] }
  @available(iOS 9.0, macOS 12.0, watchOS 9.0, *)
  open var isLowPowerModeEnabled: Bool { false }
}
