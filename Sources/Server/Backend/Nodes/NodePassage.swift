import HoldfastCore
import HoldfastKeyedHashing
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// The way of requests for services of one node from the other nodes to that node.
///
/// A node writes the request anew, with the address of the client and a signature. Only the nodes
/// have the key, so the address can be believed.
struct NodePassage: Sendable {
  /// The field with the time and the signature.
  private static let field = "x-holdfast-node"
  /// The maximum difference between the clock of the sender and that of the receiver, in seconds.
  static let tolerance: Int64 = 60
  /// The maximum time until the other node begins its response. A call of an assistant takes at most
  /// 45 s.
  static let answerLimit = Duration.seconds(60)
  /// The maximum time until the other node answers an upgrade.
  static let upgradeLimit = Duration.seconds(15)
  /// The fields that a node removes: those of one connection (RFC 9110 section 7.6.1), those that
  /// frame the body, and those that the node sets.
  private static let replaced: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "content-length", "expect", "forwarded", "x-forwarded-for", field,
  ]

  private let key: [UInt8]
  /// The proxies that report the addresses of clients.
  let proxies: TrustedProxies
  /// A function that returns the address of the node that runs the services; `nil` if it is not
  /// known.
  let holder: @Sendable () -> SocketEndpoint?
  /// The function that returns the time.
  private let clock: @Sendable () -> Timestamp

  init(
    _ tokens: Tokens, _ proxies: TrustedProxies,
    clock: @escaping @Sendable () -> Timestamp = { BootClock().wall },
    holder: @escaping @Sendable () -> SocketEndpoint?
  ) {
    key = tokens.sign(Array("holdfast passed request".utf8))
    (self.proxies, self.clock, self.holder) = (proxies, clock, holder)
  }

  /// Returns a request for the node that runs its service.
  ///
  /// - Parameter client: The address of the client; `nil` if it has left.
  func message(
    _ head: HTTPRequestHead, _ body: [UInt8]?, of client: NetworkAddress?
  ) -> [UInt8] {
    let named = head.all("connection").joined(separator: ",").lowercased().split(separator: ",")
      .map { name in String(name.filter { $0 != " " && $0 != "\t" }) }
    let removed = Self.replaced.union(named).subtracting(body == nil ? ["upgrade"] : [])
    var fields = head.headers.filter { !removed.contains($0.name) }.map { ($0.name, $0.value) }
    fields.append(("connection", body == nil ? "Upgrade" : "close"))
    if let body { fields.append(("content-length", String(body.count))) }
    fields += self.fields(head, body ?? [], of: client)
    var message = Array("\(head.method) \(head.target) HTTP/1.\(head.minorVersion)\r\n".utf8)
    for (name, value) in fields { message += Array("\(name): \(value)\r\n".utf8) }
    return message + Array("\r\n".utf8) + (body ?? [])
  }

  /// Returns the fields with which a node vouches for a request.
  func fields(
    _ head: HTTPRequestHead, _ body: [UInt8], of client: NetworkAddress?
  ) -> [(String, String)] {
    let client = client?.text ?? ""
    let seconds = String(clock().nanoseconds / 1_000_000_000)
    return [
      ("x-forwarded-for", client),
      (Self.field, "\(seconds) \(signature(seconds, head, client, body))"),
    ]
  }

  /// The origin of a request that came in at the address for nodes.
  enum Origin {
    /// A node has passed the request on.
    case node
    /// A node has passed the request on, but its clock differs by more than the tolerance, or the
    /// request was recorded.
    case otherTime
    case unknown
  }

  /// Returns where a request comes from.
  func origin(_ head: HTTPRequestHead, _ body: [UInt8]?) -> Origin {
    let words = (head.first(Self.field) ?? "").split(separator: " ")
    guard words.count == 2, let seconds = Int64(words[0]),
      let client = head.first("x-forwarded-for")
    else { return .unknown }
    let expected = signature(String(words[0]), head, client, body ?? [])
    guard KeyedHash.areEqual(Array(expected.utf8), Array(words[1].utf8)) else { return .unknown }
    let now = clock().nanoseconds / 1_000_000_000
    return (now - Self.tolerance...now + Self.tolerance).contains(seconds) ? .node : .otherTime
  }

  /// Returns the signature of what a node vouches for.
  private func signature(
    _ time: String, _ head: HTTPRequestHead, _ client: String, _ body: [UInt8]
  ) -> String {
    let facts = "\(time)\n\(head.method)\n\(head.target)\n\(client)\n\(body.count)\n"
    return Hex.text(of: KeyedHash.sha256(key: key, over: Array(facts.utf8) + body))
  }
}
