import HoldfastSocket

extension ServerURL {
  /// Returns the host of a backend's URL, which an app supplies.
  ///
  /// Plaintext to another device needs the app's option, whoever supplies the network.
  ///
  /// - Throws: `.configuration`, with the remedy, if no request to the URL can succeed.
  static func backendHost(
    _ server: String, _ ports: DevicePorts, allowsPlaintext: Bool
  ) throws(OpenError) -> String {
    let host = try Self.host(
      of: server, schemes: (plain: "http", secure: "https"), allowsQuery: false,
      allowsPlaintext: allowsPlaintext)
    // A network of the app can have other rules for URLs.
    if ports.network == nil, let problem = HoldfastPlatform.problem(ofURL: server) {
      throw .configuration("the URL is not valid: \(problem)")
    }
    return host
  }
}
