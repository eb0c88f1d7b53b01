import Synchronization

/// The options of TCP.
public class NWProtocolTCP {
  public class Options: @unchecked Sendable {
    public var noDelay = false
    public var connectionTimeout = 0
    public var enableKeepalive = false

    public init() {}
  }
}

/// The options of TLS.
public class NWProtocolTLS {
  public class Options: @unchecked Sendable {
    public let securityProtocolOptions = sec_protocol_options_t()

    public init() {}
  }
}

/// The parameters of a connection.
public class NWParameters: @unchecked Sendable {
  @_spi(Script) public let tls: NWProtocolTLS.Options?
  @_spi(Script) public let tcp: NWProtocolTCP.Options

  public init(tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()) {
    (self.tls, self.tcp) = (tls, tcp)
  }

  public class var tls: NWParameters { NWParameters(tls: NWProtocolTLS.Options()) }
  public class var tcp: NWParameters { NWParameters(tls: nil) }
}

/// A version of TLS. Apple declares it in Security, which its module Network re-exports.
public enum tls_protocol_version_t: UInt16, Sendable {
  case TLSv10 = 0x0301
  case TLSv11 = 0x0302
  case TLSv12 = 0x0303
  case TLSv13 = 0x0304
}

/// The TLS options of Security.
public final class OS_sec_protocol_options: Sendable {
  private struct Values {
    var minimum: tls_protocol_version_t?
    var applications: [String] = []
  }

  private let values = Mutex(Values())

  init() {}

  @_spi(Script) public var minimum: tls_protocol_version_t? { values.withLock(\.minimum) }
  @_spi(Script) public var applications: [String] { values.withLock(\.applications) }

  fileprivate func set(minimum version: tls_protocol_version_t) {
    values.withLock { $0.minimum = version }
  }

  fileprivate func add(application: String) {
    values.withLock { $0.applications.append(application) }
  }
}

public typealias sec_protocol_options_t = OS_sec_protocol_options

public func sec_protocol_options_set_min_tls_protocol_version(
  _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) {
  options.set(minimum: version)
}

public func sec_protocol_options_add_tls_application_protocol(
  _ options: sec_protocol_options_t, _ application_protocol: UnsafePointer<CChar>
) {
  options.add(application: String(cString: application_protocol))
}
