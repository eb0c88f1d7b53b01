// The Swift half of Apple's module Foundation, with the parts that the checks use. The signatures are
// from https://developer.apple.com/documentation/foundation
//
// Its Objective-C half is Apple/Headers/Foundation.h. Android has the Swift half alone.
@_exported public import Dispatch

#if canImport(ObjectiveC)
  @_exported public import Darwin
  @_exported public import Foundation
  @_exported public import ObjectiveC
#else
  public typealias TimeInterval = Double
  public final class NSError: Error {}

  open class ProcessInfo: @unchecked Sendable {
    public init() {}
    open class var processInfo: ProcessInfo { ProcessInfo() }
    open var activeProcessorCount: Int { 1 }
    open var environment: [String: String] { [:] }
  }
#endif

// Apple declares this type in CoreFoundation, which Foundation re-exports.
public struct CGFloat: Sendable, Hashable, Comparable, ExpressibleByFloatLiteral,
  ExpressibleByIntegerLiteral
{
  public init(_ value: Double) {}
  public init(_ value: Int) {}
  public init(floatLiteral value: Double) {}
  public init(integerLiteral value: Int) {}
  public static var infinity: CGFloat { 0 }
  public static var zero: CGFloat { 0 }
  public static func < (left: CGFloat, right: CGFloat) -> Bool { false }
  public static func + (left: CGFloat, right: CGFloat) -> CGFloat { left }
  public static func - (left: CGFloat, right: CGFloat) -> CGFloat { left }
  public static func * (left: CGFloat, right: CGFloat) -> CGFloat { left }
  public static func / (left: CGFloat, right: CGFloat) -> CGFloat { left }
}

public struct Data: Sendable, Hashable, RandomAccessCollection, MutableCollection,
  RangeReplaceableCollection
{
  public init() {}
  public init(count: Int) {}
  public init(_ bytes: some Sequence<UInt8>) {}
  public init(contentsOf url: URL) throws {}
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(i: Int) -> UInt8 {
    get { 0 }
    set {}
  }
  public subscript(bounds: Range<Int>) -> Data {
    get { self }
    set {}
  }
  public mutating func replaceSubrange(_ bounds: Range<Int>, with bytes: some Collection<UInt8>) {}
  public func range(of data: Data, in range: Range<Int>? = nil) -> Range<Int>? { nil }
  public struct WritingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let atomic = WritingOptions(rawValue: 1)
  }
  public func write(to url: URL, options: WritingOptions = []) throws {}
  public mutating func append(_ other: Data) {}
  public mutating func append(contentsOf bytes: some Sequence<UInt8>) {}
  public init?(base64Encoded: String) {}
  public func base64EncodedString() -> String { "" }
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
  public init(timeIntervalSinceReferenceDate: TimeInterval) {}
  public init(timeInterval: TimeInterval, since date: Date) {}
  public init(timeIntervalSinceNow: TimeInterval) {}
  public static var now: Date { Date() }
  public static var distantPast: Date { Date() }
  public static var distantFuture: Date { Date() }
  public var timeIntervalSinceNow: TimeInterval { 0 }
  public var timeIntervalSinceReferenceDate: TimeInterval { 0 }
  public func timeIntervalSince(_ date: Date) -> TimeInterval { 0 }
  public func addingTimeInterval(_ interval: TimeInterval) -> Date { self }
  public static func + (left: Date, right: TimeInterval) -> Date { left }
  public static func - (left: Date, right: TimeInterval) -> Date { left }
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
  public init?(secondsFromGMT: Int) {}
  public var identifier: String { "" }
  public func secondsFromGMT(for: Date = Date()) -> Int { 0 }
  public static var current: TimeZone { fatalError() }
  @available(iOS 16.0, macOS 13.0, watchOS 9.0, *)
  public static var gmt: TimeZone { fatalError() }
}

public struct Locale: Sendable, Hashable {
  public init(identifier: String) {}
  public var identifier: String { "" }
  public static var current: Locale { Locale(identifier: "") }
}

public struct Calendar: Sendable, Hashable {
  public enum Identifier: Sendable { case gregorian, iso8601 }
  public init(identifier: Identifier) {}
  public var timeZone: TimeZone
  public static var current: Calendar { fatalError() }
  public enum Component: Sendable { case hour, day, weekOfYear, month, year }
  public func date(from components: DateComponents) -> Date? { nil }
  public func dateInterval(of component: Component, for date: Date) -> DateInterval? { nil }
  public func startOfDay(for date: Date) -> Date { date }
  public func isDate(_ date1: Date, inSameDayAs date2: Date) -> Bool { false }
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
  public init(fileURLWithPath path: String) {}
  public init(fileURLWithPath path: String, isDirectory: Bool) {}
  public var isFileURL: Bool { false }
  public var lastPathComponent: String { "" }
  public func appendingPathComponent(_ component: String) -> URL { self }
  public func deletingLastPathComponent() -> URL { self }
  public var standardizedFileURL: URL { self }
  public func resourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues {
    URLResourceValues()
  }
  public mutating func setResourceValues(_ values: URLResourceValues) throws {}
  public var absoluteString: String { "" }
  @available(iOS 16.0, macOS 13.0, watchOS 9.0, *)
  public func appending(path: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath)
    -> URL
  { self }
}

public struct URLResourceValues {
  public init() {}
  public var isExcludedFromBackup: Bool?
  public var isDirectory: Bool? { nil }
}

public struct URLResourceKey: Hashable, Sendable {
  public static let isDirectoryKey = URLResourceKey()
}

public struct URLComponents: Sendable, Hashable {
  public init?(string: String) {}
  public var scheme: String?
  public var host: String?
  public var user: String?
  public var password: String?
  public var port: Int?
  @available(iOS 16.0, macOS 13.0, watchOS 9.0, *)
  public var encodedHost: String?
  public var percentEncodedPath: String = ""
  public var percentEncodedQuery: String?
  public var path: String = ""
  public var query: String?
  public var fragment: String?
  public var string: String? { nil }
}

open class FileHandle: @unchecked Sendable {
  public init() {}
  open class var standardError: FileHandle { FileHandle() }
  open class var standardOutput: FileHandle { FileHandle() }
  public func write(_ data: Data) {}
  public func readToEnd() throws -> Data? { nil }
  public convenience init(forReadingFrom url: URL) throws { self.init() }
  public func read(upToCount count: Int) throws -> Data? { nil }
  public func close() throws {}
  public func write<T: Sequence<UInt8>>(contentsOf data: T) throws {}
}

public struct CocoaError: Error {
  public struct Code: Sendable, Hashable {
    public static var featureUnsupported: Code { Code() }
  }
  public init(_ code: Code, userInfo: [String: Any] = [:]) {}
  public static var fileReadNoSuchFile: Code { Code() }
}

extension CocoaError.Code {
  public static func ~= (pattern: CocoaError.Code, error: any Error) -> Bool { false }
}

public struct FileAttributeKey: Hashable, Sendable {
  public static let modificationDate = FileAttributeKey()
  public static let posixPermissions = FileAttributeKey()
  public static let protectionKey = FileAttributeKey()
  public static let size = FileAttributeKey()
}

public struct FileProtectionType: Hashable, Sendable {
  public static let none = FileProtectionType()
  public static let completeUntilFirstUserAuthentication = FileProtectionType()
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
  open func contentsOfDirectory(
    at url: URL, includingPropertiesForKeys keys: [URLResourceKey]?
  ) throws -> [URL] { [] }
  open func moveItem(atPath source: String, toPath target: String) throws {}
  open func copyItem(atPath source: String, toPath target: String) throws {}
  open func createSymbolicLink(atPath path: String, withDestinationPath target: String) throws {}
  open func removeItem(atPath path: String) throws {}
  open func removeItem(at url: URL) throws {}
  open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath: String) throws {}
  open func isExecutableFile(atPath path: String) -> Bool { false }
  open func fileExists(atPath path: String) -> Bool { false }
  open func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { [:] }
}

public func NSHomeDirectory() -> String { "" }

extension String {
  public var removingPercentEncoding: String? { nil }
  public struct Encoding: Sendable { public static let utf8 = Encoding() }
  public init(contentsOfFile path: String, encoding: Encoding) throws { self = "" }
  public init(contentsOf url: URL, encoding: Encoding) throws { self = "" }
  public init?(data: Data, encoding: Encoding) { self = "" }
  public init(format: String, _ arguments: any CVarArg...) { self = "" }
}

open class Thread: @unchecked Sendable {
  public init() {}
  open class func detachNewThread(_ block: @escaping @Sendable () -> Void) {}
  open class var current: Thread { Thread() }
  open class var isMainThread: Bool { false }
}

public struct URLError: Error, Hashable {
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
  }
  public init(_ code: Code, userInfo: [String: Any] = [:]) {}
  public var code: Code { fatalError() }
  public var errorCode: Int { 0 }
}

extension URLError.Code {
  public static let unknown = Self(rawValue: -1), cancelled = Self(rawValue: -999)
  public static let badURL = Self(rawValue: -1000), timedOut = Self(rawValue: -1001)
  public static let unsupportedURL = Self(rawValue: -1002)
  public static let cannotFindHost = Self(rawValue: -1003)
  public static let cannotConnectToHost = Self(rawValue: -1004)
  public static let networkConnectionLost = Self(rawValue: -1005)
  public static let dnsLookupFailed = Self(rawValue: -1006)
  public static let httpTooManyRedirects = Self(rawValue: -1007)
  public static let resourceUnavailable = Self(rawValue: -1008)
  public static let notConnectedToInternet = Self(rawValue: -1009)
  public static let redirectToNonExistentLocation = Self(rawValue: -1010)
  public static let badServerResponse = Self(rawValue: -1011)
  public static let userCancelledAuthentication = Self(rawValue: -1012)
  public static let userAuthenticationRequired = Self(rawValue: -1013)
  public static let zeroByteResource = Self(rawValue: -1014)
  public static let cannotDecodeRawData = Self(rawValue: -1015)
  public static let cannotDecodeContentData = Self(rawValue: -1016)
  public static let cannotParseResponse = Self(rawValue: -1017)
  public static let internationalRoamingOff = Self(rawValue: -1018)
  public static let callIsActive = Self(rawValue: -1019)
  public static let dataNotAllowed = Self(rawValue: -1020)
  public static let requestBodyStreamExhausted = Self(rawValue: -1021)
  public static let appTransportSecurityRequiresSecureConnection = Self(rawValue: -1022)
  public static let fileDoesNotExist = Self(rawValue: -1100)
  public static let fileIsDirectory = Self(rawValue: -1101)
  public static let noPermissionsToReadFile = Self(rawValue: -1102)
  public static let dataLengthExceedsMaximum = Self(rawValue: -1103)
  public static let secureConnectionFailed = Self(rawValue: -1200)
  public static let serverCertificateHasBadDate = Self(rawValue: -1201)
  public static let serverCertificateUntrusted = Self(rawValue: -1202)
  public static let serverCertificateHasUnknownRoot = Self(rawValue: -1203)
  public static let serverCertificateNotYetValid = Self(rawValue: -1204)
  public static let clientCertificateRejected = Self(rawValue: -1205)
  public static let clientCertificateRequired = Self(rawValue: -1206)
  public static let cannotLoadFromNetwork = Self(rawValue: -2000)
  public static let backgroundSessionRequiresSharedContainer = Self(rawValue: -995)
  public static let backgroundSessionInUseByAnotherProcess = Self(rawValue: -996)
  public static let backgroundSessionWasDisconnected = Self(rawValue: -997)
}

public enum POSIXErrorCode: Int32, Sendable {
  case EPERM = 1, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, ENOEXEC, EBADF, ECHILD, EDEADLK, ENOMEM
  case EACCES, EFAULT, ENOTBLK, EBUSY, EEXIST, EXDEV, ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE
  case EMFILE, ENOTTY, ETXTBSY, EFBIG, ENOSPC, ESPIPE, EROFS, EMLINK, EPIPE, EDOM, ERANGE, EAGAIN
  case EINPROGRESS, EALREADY, ENOTSOCK, EDESTADDRREQ, EMSGSIZE, EPROTOTYPE, ENOPROTOOPT
  case EPROTONOSUPPORT, ESOCKTNOSUPPORT, ENOTSUP, EPFNOSUPPORT, EAFNOSUPPORT, EADDRINUSE
  case EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, ENETRESET, ECONNABORTED, ECONNRESET, ENOBUFS, EISCONN
  case ENOTCONN, ESHUTDOWN, ETOOMANYREFS, ETIMEDOUT, ECONNREFUSED, ELOOP, ENAMETOOLONG, EHOSTDOWN
  case EHOSTUNREACH, ENOTEMPTY, EPROCLIM, EUSERS, EDQUOT, ESTALE
  case ECANCELED = 89, ENODATA = 96, EPROTO = 100
  public static var EWOULDBLOCK: POSIXErrorCode { .EAGAIN }
}
public struct POSIXError: Error, Hashable {
  public typealias Code = POSIXErrorCode
  public init(_ code: Code, userInfo: [String: Any] = [:]) {}
  public var code: Code { fatalError() }
}

#if canImport(ObjectiveC)
  public struct URLRequest: Sendable, Hashable {
    public typealias CachePolicy = NSURLRequest.CachePolicy
    public init(
      url: URL, cachePolicy: CachePolicy = .useProtocolCachePolicy,
      timeoutInterval: TimeInterval = 60
    ) {}
    public var url: URL?
    public var cachePolicy: CachePolicy
    public var timeoutInterval: TimeInterval
    public var httpMethod: String?
    public var httpBody: Data?
    public var allHTTPHeaderFields: [String: String]?
    public var httpShouldHandleCookies: Bool
    public var allowsCellularAccess: Bool
    public var allowsExpensiveNetworkAccess: Bool
    public var allowsConstrainedNetworkAccess: Bool
    public func value(forHTTPHeaderField field: String) -> String? { nil }
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
    public static func == (left: URLRequest, right: URLRequest) -> Bool { false }
    public func hash(into hasher: inout Hasher) {}
  }

  public struct Notification: Hashable {
    public typealias Name = NSNotification.Name
    public init(name: Name, object: Any? = nil, userInfo: [AnyHashable: Any]? = nil) {}
    public var name: Name
    public var object: Any?
    public var userInfo: [AnyHashable: Any]?
    public static func == (left: Notification, right: Notification) -> Bool { false }
    public func hash(into hasher: inout Hasher) {}
  }

  extension NSSortDescriptor {
    public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
      self.init(key: nil, ascending: ascending)
    }
  }

  extension NSKeyedUnarchiver {
    public static func unarchivedObject<T: NSObject & NSCoding>(
      ofClass type: T.Type, from data: Data
    ) throws -> T? { nil }
  }

  // What the compiler looks up by name when it imports errors and methods that throw.
  extension NSError: Error {}
  public func _convertNSErrorToError(_ error: NSError?) -> any Error { fatalError() }
  public func _convertErrorToNSError(_ error: any Error) -> NSError { fatalError() }
  public protocol _BridgedStoredNSError: Error, Hashable {
    associatedtype Code: _ErrorCodeProtocol, RawRepresentable
    where Code.RawValue: FixedWidthInteger
    var _nsError: NSError { get }
    init(_nsError: NSError)
  }
  extension _BridgedStoredNSError {
    public var code: Code { fatalError() }
    public var userInfo: [String: Any] { [:] }
    public init(_ code: Code, userInfo: [String: Any] = [:]) { fatalError() }
    public static func == (left: Self, right: Self) -> Bool { false }
    public func hash(into hasher: inout Hasher) {}
  }
  public protocol _ErrorCodeProtocol: RawRepresentable, Equatable {
    associatedtype _ErrorType: _BridgedStoredNSError where _ErrorType.Code == Self
  }
  extension _ErrorCodeProtocol {
    public static func ~= (pattern: Self, error: any Error) -> Bool { false }
  }
#endif
