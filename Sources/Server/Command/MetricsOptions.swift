import HoldfastBackend
import HoldfastCommandKit

/// The options of `serve` for metrics and probes.
enum MetricsOptions {
  static let address = Parameter.optional(
    "metrics-listen", .operatorAddress, usual: "none, and /metrics is at the address for clients",
    "serve /metrics at this address alone, with /livez, /readyz and /healthz; connections are not "
      + "encrypted")
}

extension Format<String> {
  /// The format for an address of operators.
  static let operatorAddress = Format(
    placeholder: "ADDRESS:PORT|unix:PATH",
    expectation: "a numeric address and a port, such as 127.0.0.1:9090 or [::1]:9090, or unix: and "
      + "the path of a socket"
  ) {
    BackendConfiguration.isOperatorAddress($0) ? $0 : nil
  }
}
