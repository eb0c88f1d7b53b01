// A stand-in for Apple's module Network that runs on Linux: connections use real sockets, and tests
// script paths and TLS handshakes.

@_exported import Dispatch
@_exported import Foundation

/// An error of a connection.
public enum NWError: Error, Equatable, Sendable {
  case posix(POSIXErrorCode)
  case dns(DNSServiceErrorType)
  case tls(OSStatus)
}

/// An error code of the DNS service.
public typealias DNSServiceErrorType = Int32
/// A result code of the Security framework.
public typealias OSStatus = Int32

/// One end of a connection.
public enum NWEndpoint: Hashable, Sendable, CustomDebugStringConvertible {
  case hostPort(host: Host, port: Port)
  case unix(path: String)
  case url(URL)

  /// A host.
  public enum Host: Hashable, Sendable, ExpressibleByStringLiteral, CustomDebugStringConvertible {
    case name(String, NWInterface?)

    public init(_ string: String) { self = .name(string, nil) }
    public init(stringLiteral value: String) { self = .name(value, nil) }

    public var debugDescription: String {
      switch self {
      case .name(let name, let interface): interface.map { "\(name)%\($0.name)" } ?? name
      }
    }
  }

  /// A port.
  public struct Port: Hashable, Sendable, RawRepresentable, ExpressibleByIntegerLiteral,
    CustomDebugStringConvertible
  {
    public let rawValue: UInt16

    public init?(rawValue: UInt16) { self.rawValue = rawValue }
    public init(integerLiteral value: UInt16) { rawValue = value }

    public var debugDescription: String { "\(rawValue)" }
  }

  public var debugDescription: String {
    switch self {
    case .hostPort(let host, let port): "\(host.debugDescription):\(port.debugDescription)"
    case .unix(let path): path
    case .url(let url): url.absoluteString
    }
  }
}

/// A network interface.
public struct NWInterface: Hashable, Sendable {
  public enum InterfaceType: Sendable {
    case other, wifi, cellular, wiredEthernet, loopback
  }

  public let type: InterfaceType
  public let name: String
  public let index: Int

  @_spi(Script) public init(_ type: InterfaceType, _ name: String, index: Int = 1) {
    (self.type, self.name, self.index) = (type, name, index)
  }
}
