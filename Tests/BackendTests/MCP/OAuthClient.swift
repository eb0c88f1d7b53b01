import HoldfastAssistants
import HoldfastCore
import HoldfastJSON
import HoldfastPorts
import HoldfastRelayData
import HoldfastServerParts
import Synchronization
import Testing

@testable import HoldfastBackend

/// A client that signs in with OAuth over sockets, with the browser's part played by the test.
struct OAuthTestClient {
  static let issuer = "https://relay.example"
  static let callback = "http://127.0.0.1:33418/callback"
  // The example of RFC 7636 appendix B.
  static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

  let client: BackendClient
  let id: String

  /// Configures a backend with a public address behind a proxy.
  static func configure(_ configuration: inout BackendConfiguration) {
    configuration.publicURL = PublicURL(issuer)
    configuration.assistants.originPolicy.hosts = ["test"]
  }

  /// Registers a client.
  static func register(_ rig: BackendRig) async throws -> OAuthTestClient {
    let client = try rig.client()
    let answer = try await client.ask(
      "POST", "/oauth/register", fields: ["Content-Type: application/json"],
      body: #"{"client_name":"Test Client","redirect_uris":["\#(callback)"]}"#)
    #expect(answer.status == 201)
    return OAuthTestClient(client: client, id: try #require(answer.json("client_id")))
  }

  /// The request for a code, as a query or a form.
  var request: String {
    Self.form([
      "response_type": "code", "client_id": id, "redirect_uri": Self.callback,
      "code_challenge": Self.challenge, "code_challenge_method": "S256", "state": "the-state",
      "resource": Self.issuer + "/mcp",
    ])
  }

  static func form(_ pairs: [String: String]) -> String {
    pairs.sorted { $0.key < $1.key }
      .map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
  }

  func post(_ route: OAuthRoute, _ body: String) async throws -> SocketsClient.Response {
    try await client.ask(
      "POST", route.rawValue, fields: ["Content-Type: application/x-www-form-urlencoded"],
      body: body)
  }

  /// Posts the form with the pair of a phone, and returns the response.
  func signIn(word: String, code: String) async throws -> SocketsClient.Response {
    try await post(.authorize, request + "&" + Self.form(["word": word, "code": code]))
  }

  /// Returns the body of the exchange of a code.
  func exchange(_ redirect: SocketsClient.Response) throws -> String {
    let location = try #require(redirect.headers["location"])
    let code = try #require(location.firstMatch(of: /[?&]code=([^&]+)/)?.output.1)
    return Self.form([
      "grant_type": "authorization_code", "code": String(code), "client_id": id,
      "redirect_uri": Self.callback, "code_verifier": Self.verifier,
      "resource": Self.issuer + "/mcp",
    ])
  }

  /// Signs in and returns the response with the tokens.
  func tokens(_ phone: ScriptedPhone) async throws -> SocketsClient.Response {
    let redirect = try await signIn(word: phone.code.word, code: phone.code.code)
    return try await post(.token, try exchange(redirect))
  }

  func refresh(_ token: String) async throws -> SocketsClient.Response {
    try await post(
      .token,
      Self.form(["grant_type": "refresh_token", "refresh_token": token, "client_id": id]))
  }

  /// Posts a message to `/mcp` without a session.
  func call(
    _ method: String, _ params: String = "", token: String?, path: String = "/mcp"
  ) async throws -> SocketsClient.Response {
    let prefix = "io.modelcontextprotocol/"
    let meta =
      #""_meta":{"\#(prefix)protocolVersion":"2026-07-28","\#(prefix)clientCapabilities":{}}"#
    return try await client.ask(
      "POST", path, token: token,
      fields: [
        "Accept: application/json, text/event-stream", "Content-Type: application/json",
        "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: \(method)",
        "Mcp-Name: get_health_metrics",
      ],
      body: #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(params)\#(meta)}}"#)
  }

  static let steps =
    #""name":"get_health_metrics","arguments":{"value_type":"STEPS","start_time":"2026-03-01","#
    + #""end_time":"2026-03-02"},"#
}

extension SocketsClient.Response {
  /// The text of a member of the JSON body; `nil` if there is none.
  func json(_ name: String) -> String? {
    try? JSONFields(Array(body.utf8), keeping: [name]).optionalString(name)
  }
}

/// A client that serves the documents of OAuth clients without a network.
final class DocumentServer: HTTPClient {
  private let documents: [String: String]
  private let asked = Mutex<[HTTPCall]>([])

  init(_ documents: [String: String]) {
    self.documents = documents
  }

  /// The requests so far.
  var calls: [HTTPCall] { asked.withLock(\.self) }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    asked.withLock { $0.append(request) }
    guard let document = documents[request.url] else {
      throw .unreachable(detail: "no such document")
    }
    return HTTPAnswer(
      status: 200,
      headers: ["cache-control": "max-age=60", "content-type": "application/json"],
      body: Array(document.utf8),
      retryAfter: nil)
  }

  func forgetConnections() async {}
}
