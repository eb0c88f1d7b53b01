import Foundation
import HoldfastCore
import HoldfastSocket

extension ServerURL {
  /// Returns the host of a backend's URL, which an app supplies.
  ///
  /// - Parameter allowsPlaintext: The app's option for plaintext to other devices; `nil` for a
  ///   feature without this option.
  /// - Throws: `.local` with the remedy if no request to the URL can succeed.
  static func backendHost(
    _ server: String, _ ports: DevicePorts, allowsPlaintext: Bool? = nil
  ) throws(LinkFailure) -> String {
    guard server.hasPrefix("https://") || server.hasPrefix("http://"),
      let parts = URLComponents(string: server), let host = parts.host, !host.isEmpty,
      parts.user == nil, parts.query == nil, parts.fragment == nil
    else {
      throw .local(
        detail: "the server's URL must be like https://host[:port][/path], without a user, a query "
          + "or a fragment")
    }
    if let problem = HoldfastPlatform.problem(ofURL: server) {
      throw .local(detail: "the server's URL is not valid: \(problem)")
    }
    let isPrivate = server.hasPrefix("https://") || NetworkAddress.isLoopback(host: host)
    // A network that the app supplies has its own rule for plaintext.
    guard isPrivate || ports.network != nil || allowsPlaintext == true else {
      let option =
        allowsPlaintext == nil
        ? "`ports.network` to a network that allows plaintext" : "`allowsPlaintext`"
      throw .local(detail: "http:// to \(host) is not encrypted; use https://, or set \(option)")
    }
    return host
  }
}
