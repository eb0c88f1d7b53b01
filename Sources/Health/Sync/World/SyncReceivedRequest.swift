import HoldfastCore
import HoldfastLinkChecks
import HoldfastSyncServer
import HoldfastWorldKernel

/// A request as received by the server, with its header fields and query items by name.
struct SyncReceivedRequest: Sendable {
  var method: String
  var path: SyncPath
  /// The header fields, by lowercase name.
  var fields: [String: String]
  var query: [String: String] = [:]
  var candidate = UUID128(high: 0, low: 0)
  var body: [UInt8] = []

  /// The request as the call that the server handles.
  var call: SyncCall {
    var call = SyncCall(method, path, body: body) {
      fields[$0]
    } query: {
      query[$0]
    } candidate: {
      candidate
    }
    // Phones with different secrets are at different addresses, and none guesses.
    call.address = fields["authorization"] ?? ""
    call.wrongSecret = TokenHash([UInt8](repeating: 0, count: 32))
    return call
  }

  /// An input of the server.
  enum Event: Sendable {
    case request(RequestID, SyncReceivedRequest, user: SyncUser?, wall: Timestamp)
    case announced(RequestID, SyncReceivedRequest, user: SyncUser?)
    case cut(RequestID, SyncReceivedRequest)
    case other(SyncServer.Input)

    var input: SyncServer.Input {
      switch self {
      case .request(let id, let received, let user, let wall):
        .request(id, received.call, user: user, wall: wall)
      case .announced(let id, let received, let user): .announced(id, received.call, user: user)
      case .cut(let id, let received): .cut(id, received.call)
      case .other(let input): input
      }
    }
  }
}
