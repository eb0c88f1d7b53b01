import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastAssistants

/// Tests of the well-known documents, of registration, and of the bounds of both.
struct OAuthMetadataTests {
  @Test(arguments: [OAuthRoute.resource, .rootResource])
  func `the metadata of the resource names the authorization server (RFC 9728 section 2)`(
    route: OAuthRoute
  ) {
    var stage = OAuthStage()
    let reply = stage.ask(.get, route)
    #expect(reply.status == 200)
    #expect(reply.field("Content-Type") == "application/json")
    #expect(reply.field("Access-Control-Allow-Origin") == "*")
    #expect(
      reply.text == #"{"resource":"https://relay.example/mcp","#
        + #""authorization_servers":["https://relay.example"],"#
        + #""scopes_supported":["health:read"],"bearer_methods_supported":["header"],"#
        + #""resource_name":"Holdfast"}"#)
  }

  @Test func `the metadata of the authorization server is complete (RFC 8414 section 2)`() {
    var stage = OAuthStage()
    let reply = stage.ask(.get, .server)
    #expect(reply.status == 200)
    #expect(reply.field("Access-Control-Allow-Origin") == "*")
    #expect(
      reply.text == #"{"issuer":"https://relay.example","#
        + #""authorization_endpoint":"https://relay.example/oauth/authorize","#
        + #""token_endpoint":"https://relay.example/oauth/token","#
        + #""registration_endpoint":"https://relay.example/oauth/register","#
        + #""revocation_endpoint":"https://relay.example/oauth/revoke","#
        + #""scopes_supported":["health:read"],"response_types_supported":["code"],"#
        + #""response_modes_supported":["query"],"#
        + #""grant_types_supported":["authorization_code","refresh_token"],"#
        + #""code_challenge_methods_supported":["S256"],"#
        + #""token_endpoint_auth_methods_supported":["none"],"#
        + #""revocation_endpoint_auth_methods_supported":["none"],"#
        + #""client_id_metadata_document_supported":true,"#
        + #""authorization_response_iss_parameter_supported":true}"#)
  }

  @Test func `a registration is answered with 201 and the metadata (RFC 7591 section 3.2.1)`() {
    var stage = OAuthStage()
    let reply = stage.ask(
      .post, .register,
      body: #"{"client_name":"My App","redirect_uris":["http://127.0.0.1/cb"],"#
        + #""token_endpoint_auth_method":"client_secret_basic","grant_types":["implicit"]}"#)
    #expect(reply.status == 201)
    #expect(reply.field("Cache-Control") == "no-store")
    #expect(reply.json("client_id").hasPrefix("hfc_"))
    #expect(
      reply.text.hasSuffix(
        #""client_name":"My App","redirect_uris":["http://127.0.0.1/cb"],"#
          + #""token_endpoint_auth_method":"none","#
          + #""grant_types":["authorization_code","refresh_token"],"#
          + #""response_types":["code"],"scope":"health:read"}"#))
    #expect(reply.text.contains(#""client_id_issued_at":"#))
  }

  @Test(arguments: [
    "http://evil.example/cb", "https://a.example/cb#x", "javascript:alert(1)", "cursor://x/cb",
    "https://user@a.example/", "https://", "https:///cb", "/cb", "https://a b/cb", "",
    "http://127.0.0.1.evil.example/cb", "https://a.example:0/cb", "https://a.example:70000/cb",
    "https://[::1/cb", "https://é.example/cb", #"https://a.example\\@evil/"#,
  ])
  func `only https and this machine are accepted (RFC 7591 section 3.2.2)`(uri: String) {
    var stage = OAuthStage()
    let reply = stage.ask(.post, .register, body: #"{"redirect_uris":["\#(uri)","\#(uri)"]}"#)
    #expect(reply.failure == "400 invalid_redirect_uri")
    #expect(reply.field("Access-Control-Allow-Origin") == "*")
  }

  @Test func `redirects that cannot be used are left out (RFC 7591 section 2)`() {
    var stage = OAuthStage()
    let (app, web, here) = ("cursor://x/cb", "https://a.example/cb", "http://localhost:8080/cb")
    let list = [app, web, "http://evil.example/cb", here].map { "\"\($0)\"" }
      .joined(separator: ",")
    let reply = stage.ask(.post, .register, body: #"{"redirect_uris":[\#(list)]}"#)
    #expect(reply.status == 201)
    #expect(reply.text.contains(#""redirect_uris":["\#(web)","\#(here)"]"#))
    let client = stage.register([app, web, here])
    for (redirect, isAccepted) in [
      (web, true), ("http://localhost:9/cb", true), (app, false), ("http://evil.example/cb", false),
      ("https://a.example/cb/x", false), ("https://a.example/", false),
    ] {
      let page = stage.ask(.get, .authorize, stage.request(client, redirect: redirect))
      #expect((page.status == 200) == isAccepted, "\(redirect)")
      #expect(page.field("Location") == nil)
    }
    // The kept redirects are two, so a request must name one of them.
    let unnamed = stage.request(client).filter { $0.0 != "redirect_uri" }
    #expect(stage.ask(.get, .authorize, unnamed).status == 400)
  }

  @Test func `a redirect that is no text is refused`() {
    var stage = OAuthStage()
    let body = #"{"redirect_uris":["https://a.example/cb",7]}"#
    #expect(stage.ask(.post, .register, body: body).failure == "400 invalid_redirect_uri")
  }

  @Test(arguments: [
    ("{", "invalid_client_metadata"), ("[]", "invalid_client_metadata"),
    ("{}", "invalid_redirect_uri"), (#"{"redirect_uris":[]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":"https://a.example/"}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris":[7]}"#, "invalid_redirect_uri"),
    (#"{"client_name":7}"#, "invalid_client_metadata"),
    (
      #"{"redirect_uris":["https://a.example/"],"response_types":["token"]}"#,
      "invalid_client_metadata"
    ),
  ])
  func `an invalid registration is refused (RFC 7591 section 3.2.2)`(
    body: String, error: String
  ) {
    var stage = OAuthStage()
    #expect(stage.ask(.post, .register, body: body).failure == "400 \(error)")
  }

  @Test func `a registration is JSON`() {
    var stage = OAuthStage()
    let reply = stage.ask(.post, .register, body: #"{"redirect_uris":["https://a.example/"]}"#) {
      $0.fields.contentType = "text/plain"
    }
    #expect(reply.failure == "400 invalid_client_metadata")
  }

  @Test(arguments: [-1, 0, 1])
  func `a client has at most maxRedirects URIs`(beyond: Int) {
    var stage = OAuthStage()
    let count = OAuthClient.maxRedirects + beyond
    #expect(OAuthClient.maxRedirects == 16)
    let many = (0..<count).map { "https://a.example/\($0)" }
    #expect(stage.register(many).isEmpty == (beyond > 0))
    // Those that are left out count, too.
    let apps = (1..<count).map { "cursor://x/\($0)" }
    #expect(stage.register(apps + [many[0]]).isEmpty == (beyond > 0))
  }

  @Test func `a client has at most maxRedirectBytes of URIs, 2,048`() {
    var stage = OAuthStage()
    #expect(OAuthClient.maxRedirectBytes == 2_048)
    func long(_ count: Int) -> String {
      let start = "https://a.example/"
      return start + String(repeating: "x", count: count - start.utf8.count)
    }
    #expect(!stage.register([long(2_048)]).isEmpty)
    #expect(stage.register([long(2_049)]).isEmpty)
    #expect(!stage.register([long(1_024), long(1_023)]).isEmpty)
    #expect(!stage.register([long(1_024), long(1_024)]).isEmpty)
    #expect(stage.register([long(1_024), long(1_025)]).isEmpty)
    let app = "cursor://" + String(repeating: "x", count: 2_048)
    #expect(!stage.register([long(1_024), app, long(1_024)]).isEmpty)
  }

  /// An id is 4 bytes, and Base64 of the metadata and a signature of 32 bytes.
  @Test(arguments: [4_464, 4_465, 4_466])
  func `an id has at most maxIDBytes, 6,000`(metadataBytes: Int) {
    let hashes = OAuthStage.hashes(7)
    let (start, end) = (#"{"n":"App","r":["https://a.example/cb"],"x":""#, #""}"#)
    let filling = metadataBytes - start.utf8.count - end.utf8.count
    let metadata = Array((start + String(repeating: "x", count: filling) + end).utf8)
    let id = "hfc_" + Base64URL.encode(metadata + hashes.sign(metadata, for: .client))
    #expect(OAuthClient.maxIDBytes == 6_000)
    let isRead = id.utf8.count <= OAuthClient.maxIDBytes
    #expect(isRead == (metadataBytes < 4_466))
    #expect((OAuthClient.registered(id, hashes)?.name == "App") == isRead)
  }

  @Test func `an id of another backend, or one that was changed, is unknown`() {
    var (stage, other) = (OAuthStage(key: 7), OAuthStage(key: 8))
    let id = stage.register()
    #expect(OAuthClient.registered(id, stage.hashes)?.name == "Claude")
    #expect(OAuthClient.registered(other.register(), stage.hashes) == nil)
    for index in id.indices {
      let letter = id[index] == "A" ? "B" : "A"
      let changed = id.replacingCharacters(at: index, with: letter)
      #expect(OAuthClient.registered(changed, stage.hashes) == nil)
    }
    #expect(OAuthClient.registered("hfc_", stage.hashes) == nil)
  }

  @Test func `two registrations of the same metadata have different ids`() {
    var stage = OAuthStage()
    #expect(stage.register() != stage.register())
  }

  @Test func `a flood of registrations leaves nothing behind`() {
    var stage = OAuthStage()
    for number in 0..<20_000 { _ = stage.register(["https://a.example/\(number)"]) }
    #expect(stage.server.codes.isEmpty && stage.server.waiting.isEmpty)
    #expect(stage.server.documents.entries.isEmpty && stage.server.documents.waiting.isEmpty)
    #expect(stage.server.metrics.answers == [201: 20_000])
    #expect(stage.server.deadline == nil)
  }

  @Test(arguments: OAuthRoute.allCases)
  func `other methods and hosts are refused`(route: OAuthRoute) {
    var stage = OAuthStage()
    let wrong = stage.ask(.delete, route)
    #expect(wrong.status == 405)
    #expect(wrong.field("Allow") == (route == .authorize ? "GET, POST" : wrong.field("Allow")))
    let foreign = stage.ask(.get, route) { $0.fields.host = "evil.example" }
    #expect(foreign.status == 421)
    let here = stage.ask(.get, route) { $0.fields.host = "relay.example:443" }
    #expect(here.status != 421)
  }

  @Test(arguments: OAuthRoute.allCases.filter(\.isForPages))
  func `a browser may call the routes for programs (Fetch section 3.2.2)`(route: OAuthRoute) {
    var stage = OAuthStage()
    let reply = stage.ask(.options, route) { $0.fields.origin = "https://app.example" }
    #expect(reply.status == 204)
    #expect(reply.field("Access-Control-Allow-Origin") == "*")
    #expect(stage.ask(.options, .authorize).status == 405)
  }

  @Test(
    arguments: [
      ("https://relay.example", "https://relay.example"),
      ("https://Relay.Example/", "https://relay.example"),
      ("https://relay.example:443", "https://relay.example"),
      ("https://relay.example:8443", "https://relay.example:8443"),
      ("http://127.0.0.1:8787", "http://127.0.0.1:8787"),
      ("http://localhost:80", "http://localhost"), ("http://[::1]:8787", "http://[::1]:8787"),
      ("http://relay.example", nil), ("https://relay.example/x", nil),
      ("https://relay.example?x", nil), ("https://a@relay.example", nil), ("relay.example", nil),
      ("https://relay.example#x", nil), ("ftp://127.0.0.1", nil), ("https://", nil),
    ] as [(String, String?)])
  func `a public address is an origin, https or of this machine`(text: String, origin: String?) {
    #expect(PublicURL(text)?.description == origin)
    #expect(PublicURL(text)?.resource == origin.map { $0 + "/mcp" })
  }
}

extension String {
  fileprivate func replacingCharacters(at index: Index, with letter: String) -> String {
    self[..<index] + letter + self[self.index(after: index)...]
  }
}
