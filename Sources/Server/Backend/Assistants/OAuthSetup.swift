import HoldfastAssistants
import HoldfastCore
import HoldfastCurlNetwork
import HoldfastKeyedHashing
import HoldfastPorts
import HoldfastProtocols

/// The parts of the sign-in with OAuth that need the system: the key, and the client that fetches
/// the metadata of OAuth clients.
struct OAuthSetup: Sendable {
  let url: PublicURL
  let hashes: OAuthHashes
  let client: any HTTPClient

  /// Opens the parts. Returns `nil` if the backend has no public URL.
  ///
  /// The key is the one that signs the tokens of shops. A signature of one kind is never valid as
  /// one of the other.
  static func open(_ configuration: BackendConfiguration) throws(BackendError) -> OAuthSetup? {
    guard let url = configuration.publicURL else { return nil }
    let tokens = try Tokens.open(for: configuration)
    let hashes = OAuthHashes(
      code: tokens.sign, hash: RelaySecrets.digest, areEqual: KeyedHash.areEqual)
    if let client = configuration.documentClient {
      return OAuthSetup(url: url, hashes: hashes, client: client)
    }
    do throws(LinkFailure) {
      // A proxy would look the names up by itself, so their addresses could not be checked.
      let client = try CurlNetwork(CurlConfiguration(proxy: "", onlyPublicAddresses: true))
      return OAuthSetup(url: url, hashes: hashes, client: client)
    } catch {
      throw .file(path: "the network", detail: "\(error)")
    }
  }

  func server(_ configuration: BackendConfiguration, at now: Instant) -> OAuthServer {
    OAuthServer(
      policy: configuration.oauth, at: url, originPolicy: configuration.assistantsHere.originPolicy,
      hashes: hashes, now: now)
  }

  /// Returns what the token of a request permits.
  func permission(of head: HTTPRequestHead) -> OAuthPermission {
    OAuthPermission(bearer: head.bearer, at: url, hashes, wall: BootClock().wall)
  }
}

extension HTTPClient {
  /// Fetches the metadata document of a client.
  func document(_ url: String, within limit: Duration, maxBytes: Int) async -> OAuthFetch {
    let call = HTTPCall(
      method: "GET", url: url, headers: [("Accept", "application/json")], timeout: limit,
      maxBodyBytes: maxBytes)
    guard let answer = try? await send(call) else { return .failed }
    return .answered(
      status: answer.status, contentType: answer.headers["content-type"],
      cacheControl: answer.headers["cache-control"], age: answer.headers["age"], body: answer.body)
  }
}

extension OAuthCall {
  /// Creates a call from the parts of a request that the rules use.
  init(_ head: HTTPRequestHead, _ route: OAuthRoute, body: [UInt8], address: String) {
    let method = MCPCall.Method(rawValue: head.method) ?? .other
    let pairs = method == .post ? HTTPRequestHead.form(body) : head.query
    self.init(
      method, route, fields: MCPCall.Fields(head), address: address,
      parameters: pairs.map { MCPCall.Pair($0.name, $0.value) },
      body: route == .register ? body : [])
    bodyBytes = body.count
    hasAuthorization = head.first("authorization") != nil
  }
}

extension OAuthReply {
  /// The header fields of the reply.
  var headers: [(String, String)] { fields.map { ($0.name, $0.value) } }
}
