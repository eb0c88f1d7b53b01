import Foundation
import HoldfastCore
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
    let parts = URLComponents(string: server)
    let scheme = parts?.scheme?.lowercased()
    guard scheme == "https" || scheme == "http", let parts, let host = parts.host, !host.isEmpty,
      parts.user == nil, parts.query == nil, parts.fragment == nil
    else {
      throw .configuration(
        "the server's URL must be like https://host[:port][/path], without a user, a query or a "
          + "fragment")
    }
    // A network of the app can have other rules for URLs.
    if ports.network == nil, let problem = HoldfastPlatform.problem(ofURL: server) {
      throw .configuration("the server's URL is not valid: \(problem)")
    }
    guard scheme == "https" || allowsPlaintext || NetworkAddress.isLoopback(host: host) else {
      throw .configuration(
        "http:// to \(host) is not encrypted; use https://, or set `allowsPlaintext`")
    }
    return host
  }
}
