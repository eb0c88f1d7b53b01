import HoldfastAssistants
import HoldfastJSON
import HoldfastProtocols
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastServerSockets

/// A route for phones, for assistants, or for their sign-in.
enum RelayServiceRoute: ServiceRoute {
  case phone(RelayRoute)
  case assistant(MCPRoute)
  case oauth(OAuthRoute)

  init?(path: String) {
    if let route = RelayRoute(path: path) {
      self = .phone(route)
    } else if let route = MCPRoute(path: path) {
      self = .assistant(route)
    } else if let route = OAuthRoute(rawValue: path) {
      self = .oauth(route)
    } else {
      return nil
    }
  }

  var name: String {
    switch self {
    case .phone(let route): route.name
    case .assistant(let route): route.name
    case .oauth(let route): route.name
    }
  }

  var opensSocket: Bool {
    switch self {
    case .phone(let route): route == .phone
    case .assistant, .oauth: false
    }
  }

  /// The limits of a phone's socket. A phone that uses only the original protocol sends a whole
  /// answer in one message.
  var bounds: SocketBounds {
    switch self {
    case .phone: SocketBounds(maxMessageBytes: PhoneMessage.maxBytes)
    case .assistant, .oauth: SocketBounds()
    }
  }

  /// A GET for events would begin a stream, and one for a logout would end the login.
  var takesHead: Bool {
    switch self {
    case .assistant(.mcp), .assistant(.code), .assistant(.logout): true
    case .assistant, .phone, .oauth: false
    }
  }

  static var maxBodyBytes: [String: Int] { RelayRoute.maxBodyBytes }
}

/// The routes for phones.
enum RelayRoute: String, CaseIterable {
  case phone, lease, results, push, assistants, sync, health

  /// The size limits of request bodies. A result contains its envelope and one part of at most
  /// 200,000 bytes.
  ///
  /// Longer answers are sent in several parts.
  static let maxBodyBytes = [Self.results.path: 262_144]

  /// Creates the route for a decoded path.
  init?(path: String) {
    guard let route = Self.allCases.first(where: { $0.path == path }) else { return nil }
    self = route
  }

  /// The path of the route.
  var path: String {
    switch self {
    case .phone: "/ws/phone"
    case .lease: "/relay/lease"
    case .results: "/relay/results"
    case .push: "/relay/push"
    case .assistants: "/relay/assistants"
    case .sync: "/relay/sync"
    case .health: "/relay/health"
    }
  }

  /// The name of the route in metrics and logs. Other services have routes for health and sync.
  var name: String {
    switch self {
    case .phone, .lease, .results, .push, .assistants: rawValue
    case .sync, .health: "relay_\(rawValue)"
    }
  }

  /// The only method that the route accepts.
  var method: String {
    switch self {
    case .phone, .health: "GET"
    case .lease, .results, .push, .assistants, .sync: "POST"
    }
  }

  /// Parses the pull of a phone at `address` from a request body. Returns `nil` on routes that have
  /// no pulls.
  func pull(
    _ body: [UInt8], _ samples: SyncedSamples, from address: String
  ) throws(RelayWireError) -> RelayPull? {
    switch self {
    case .sync: return .synced(samples.choice(of: try SyncedOrder.read(body)), from: address)
    case .phone, .health: return nil
    case .lease: return .lease(try LeaseRequest.read(body))
    case .results: return .result(try LeasedResult.read(body))
    case .assistants: return .assistants(try AssistantsOrder.read(body))
    case .push:
      do {
        return .push(try PushAddress.decode(body))
      } catch {
        throw RelayWireError(.malformed(detail: "no push address"))
      }
    }
  }
}

extension RelayReply {
  /// The status, header fields and body of the reply.
  var response: (status: Int, headers: [(String, String)], body: [UInt8]) {
    let headers = HTTPFields.json
    switch self {
    case .leased(let questions): return (200, headers, questions.bytes)
    case .assistants(let list): return (200, headers, list.bytes)
    case .synced(let user): return (200, headers, SyncedAnswer(user: user).bytes)
    case .taken, .registered: return (200, headers, Self.object { $0.entry("success", true) })
    case .refused(let refusal):
      let fields = HTTPFields.of(status: refusal.status, retryAfter: refusal.retryAfter)
      return (refusal.status, headers + fields, Self.error(refusal.name, refusal.text))
    }
  }

  /// Returns an object in which `success` is false, with an error name for programs and a sentence
  /// for people.
  static func error(_ name: String, _ text: String) -> [UInt8] {
    object {
      $0.entry("success", false)
      $0.entry("error", name)
      $0.entry("error_message", text)
    }
  }

  private static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(capacity: 100)
    writer.object(members)
    return writer.bytes
  }
}

extension PullRefusal {
  fileprivate var retryAfter: Duration? {
    switch self {
    case .storeFailed(let wait), .busy(let wait), .lockedOut(let wait): wait
    case .notSignedIn, .unknownQuestion, .unknownAssistant, .leaseExpired, .notWanted, .malformed,
      .tooLarge, .unknownSecret:
      nil
    }
  }

  fileprivate var text: String {
    switch self {
    case .notSignedIn: "This resume token is no longer known; connect and pair again."
    case .unknownQuestion: "No such question was asked of this phone."
    case .unknownAssistant: "No assistant of this id is paired with this phone; list them."
    case .leaseExpired: "The question is not leased under this name; lease again."
    case .notWanted: "Nobody waits for this answer any more."
    case .malformed(let reason): reason
    case .tooLarge(let limit): "The answer is longer than \(limit) bytes."
    case .storeFailed: "The change cannot be stored now; try again."
    case .busy: "The backend is too busy now; try again."
    case .unknownSecret: "No user of health sync has this secret."
    case .lockedOut: "Too many wrong secrets were sent from here; try again later."
    }
  }
}
