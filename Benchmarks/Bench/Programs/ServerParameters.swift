import HoldfastBackend
import HoldfastCommandKit

/// The parameters of the programs that run the real backend.
enum ServerParameters {
  static let host = Parameter<String>.option(
    "host", .text("HOST"), default: "127.0.0.1", "where to listen")
  static let port = Parameter<Int>.option(
    "port", .integer("PORT", 0...65_535), default: 0, "where to listen; 0 lets the system pick")
  static let certificate = Parameter<String?>.optional(
    "tls-cert", .text("FILE"), "serve TLS with this PEM certificate")
  static let key = Parameter<String?>.optional("tls-key", .text("FILE"), "its key")

  /// Returns the configuration of a backend that does not limit connections per address.
  static func configuration(_ call: Invocation, in data: String) -> BackendConfiguration {
    var configuration = BackendConfiguration(dataDirectory: data)
    configuration.host = call[host]
    configuration.port = UInt16(call[port])
    if let chain = call[certificate], let key = call[key] {
      configuration.certificate = .init(chainPath: chain, keyPath: key)
    }
    configuration.maxConnectionsPerAddress = 1_000_000
    return configuration
  }
}
