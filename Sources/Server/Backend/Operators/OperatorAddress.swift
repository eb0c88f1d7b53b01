import HoldfastCore
public import HoldfastServerParts
import HoldfastServerSockets

extension ListenerAddress {
  /// Reads an address for operators: `unix:PATH`, or a numeric address and a port such as
  /// `127.0.0.1:9090` or `[::1]:9090`. Returns `nil` for any other text.
  init?(operators text: String) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst("unix:".count))
      guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0) else { return nil }
      self = .unix(path: path)
    } else {
      guard let endpoint = SocketEndpoint(text), let address = NetworkAddress(endpoint.host),
        !address.isMulticast
      else { return nil }
      self = .tcp(endpoint)
    }
  }
}

extension BackendConfiguration {
  /// Returns whether a text is an address for `metricsAddress`.
  public static func isOperatorAddress(_ text: String) -> Bool {
    ListenerAddress(operators: text) != nil
  }

  /// The comparison of the limit on descriptors with the sockets that the configuration allows; `nil`
  /// if there is no limit to compare.
  public var descriptorVerdict: DescriptorLimit.Verdict? {
    descriptorLimit.map {
      DescriptorLimit(limit: Int(clamping: $0), sockets: maxSockets).verdict
    }
  }
}
