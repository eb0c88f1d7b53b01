package import HoldfastPorts
import HoldfastSyncData

/// The addresses of a sync's server, and the requests that are not uploads.
package struct SyncRequests: Sendable {
  /// The address of the server without the path of the endpoint.
  package let server: String

  /// The size limit of a response. A longer response contains no further information.
  package static let maxBodyBytes = 1 << 20
  /// The time limit of an exchange that sends no data.
  package static let timeLimit = Duration.seconds(30)
  private static let path = "/api/sync"

  /// Creates the requests to a server.
  ///
  /// - Parameter server: The address of the server. The complete address of the endpoint is also
  ///   accepted, since the original app uses it.
  package init(to server: String) {
    var base = server
    while base.hasSuffix("/") { base.removeLast() }
    if base.hasSuffix(Self.path) { base.removeLast(Self.path.count) }
    while base.hasSuffix("/") { base.removeLast() }
    self.server = base
  }

  /// The address that batches are sent to.
  package var endpoint: String { server + Self.path }

  /// Returns the request for the owner of the progress.
  ///
  /// - Parameter deviceID: The identifier of this phone; `nil` if it has none.
  package func owner(of deviceID: String?) -> HTTPCall {
    // Phones without an identifier share one, so the server must not compare their batches.
    let named = deviceID.flatMap { $0 == SyncBatch.unknownDevice ? nil : $0 }
    return HTTPCall(
      method: "GET", url: endpoint, query: named.map { [(name: "deviceId", value: $0)] } ?? [],
      timeout: Self.timeLimit, maxBodyBytes: Self.maxBodyBytes)
  }

  /// The report that all data was sent.
  package var refresh: HTTPCall {
    HTTPCall(
      method: "POST", url: endpoint + "/refresh", timeout: Self.timeLimit,
      maxBodyBytes: Self.maxBodyBytes)
  }
}
