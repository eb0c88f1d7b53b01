public import HoldfastCore
import HoldfastCurlNetwork
public import HoldfastPorts

/// A client of the address for operators.
public struct AdminClient: Sendable {
  /// The time-out of a request.
  private static let timeout = Duration.seconds(30)
  /// The maximum size of an answer: 1,000 connections with the longest names.
  private static let maxBodyBytes = 4 << 20

  private let network: CurlNetwork
  private let origin: String
  private let token: AdminToken?

  /// Creates a client for `unix:PATH`, or for a URL such as `http://127.0.0.1:8789`.
  ///
  /// - Parameters:
  ///   - token: The token; `nil` if the address needs none.
  ///   - allowsPlaintext: Whether the token may leave this machine without encryption.
  /// - Throws: `.local` if the text is no such address.
  public init(
    _ address: String, token: AdminToken? = nil, allowsPlaintext: Bool = false
  ) throws(LinkFailure) {
    var configuration = CurlConfiguration(allowsPlaintext: allowsPlaintext)
    if address.hasPrefix("unix:") {
      configuration.unixSocket = String(address.dropFirst("unix:".count))
      // The name is only written into the field Host.
      origin = "http://localhost"
    } else {
      guard CurlNetwork.problem(ofURL: address) == nil, address.hasPrefix("http") else {
        throw .local(detail: "\(address) is neither unix:PATH nor a URL with http.")
      }
      origin = address.hasSuffix("/") ? String(address.dropLast()) : address
    }
    network = try CurlNetwork(configuration)
    self.token = token
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - path: The segments of the path after `/admin`, which are percent-encoded.
  ///   - query: The items of the query, likewise.
  public func ask(
    _ method: String, _ path: [String], query: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) async throws(LinkFailure) -> HTTPAnswer {
    var headers: [(name: String, value: String)] = []
    if let token { headers.append((name: "Authorization", value: token.authorization)) }
    if !body.isEmpty { headers.append((name: "Content-Type", value: "application/json")) }
    let target = (["admin"] + path).map { "/" + Self.encoded($0) }.joined()
    return try await network.send(
      HTTPCall(
        method: method, url: origin + target, headers: headers, query: query, body: body,
        timeout: Self.timeout, maxBodyBytes: Self.maxBodyBytes))
  }

  /// Returns a segment of a path with all but letters, digits, `-`, `_` and `~` encoded. A segment of
  /// dots would otherwise be removed (RFC 3986 section 5.2.4).
  static func encoded(_ segment: String) -> String {
    segment.percentEncoded.replacing(".", with: "%2E")
  }
}
