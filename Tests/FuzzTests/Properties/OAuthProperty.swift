import HoldfastCore
import HoldfastRelayServer

@testable import HoldfastAssistants
@testable import HoldfastServerParts

/// The properties of what the sign-in with OAuth reads: URLs, registrations, client ids, metadata
/// documents, tokens, and forms.
enum OAuthProperty {
  private static let wall = Timestamp(nanoseconds: 1_768_906_800_000_000_000)
  private static let resource = "https://relay.example/mcp"
  private static let hashes = OAuthHashes(
    code: { mix([1] + $0) }, hash: { mix([2] + $0) }, areEqual: ==)

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte()
    let rest = Array(choices.rest)
    let text = String(decoding: rest, as: UTF8.self)
    switch kind % 6 {
    case 0: try url(text)
    case 1: try registration(rest)
    case 2: try clientID(text)
    case 3: try document(rest)
    case 4: try token(text)
    case _: try form(&choices)
    }
  }

  private static func url(_ text: String) throws(Broken) {
    guard let url = WebURL(text) else { return }
    try hold(url.text == text && text.utf8.count <= 2_048, "a URL keeps its text")
    try hold(url.isSecure || url.isLoopback, "a URL is https or of this machine")
    try hold(WebURL(url.origin)?.origin == url.origin, "an origin is a URL with that origin")
    try hold(
      WebURL(url.comparable)?.comparable == url.comparable, "a comparable form is comparable")
    try hold(
      !text.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || $0 == 0x22 || $0 == 0x3C },
      "a URL has no white space, quotation mark or bracket of markup")
  }

  private static func registration(_ body: [UInt8]) throws(Broken) {
    let nonce = [UInt8](repeating: 7, count: 8)
    guard let client = try? OAuthClient.register(body, nonce: nonce, hashes) else {
      return
    }
    try hold(
      OAuthClient.registered(client.id, hashes) == client, "an issued id has its own metadata")
    try bounds(client)
    for redirect in client.redirects {
      try hold(client.redirect(named: redirect.text) != nil, "a registered URI is accepted")
    }
  }

  private static func bounds(_ client: OAuthClient) throws(Broken) {
    try hold(
      (1...OAuthClient.maxRedirects).contains(client.redirects.count)
        && client.redirects.reduce(0) { $0 + $1.text.utf8.count } <= OAuthClient.maxRedirectBytes,
      "the URIs of a client are bounded")
  }

  private static func clientID(_ id: String) throws(Broken) {
    try hold(OAuthClient.registered(id, hashes) == nil, "nobody else makes an id")
    try hold(OAuthClient.registered("hfc_" + id, hashes) == nil, "nobody else makes an id")
    guard OAuthClient.isDocument(id) else { return }
    try hold(WebURL(id)?.isSecure == true, "a document is at an https URL")
  }

  private static func document(_ body: [UInt8]) throws(Broken) {
    guard let client = OAuthClient(document: body, id: "https://app.example/1") else { return }
    try hold(client.id == "https://app.example/1", "a document is that of its id")
    try bounds(client)
  }

  private static func token(_ text: String) throws(Broken) {
    for prefix in ["", "hfa_", "hfr_"] {
      try hold(
        OAuthToken.read(prefix + text, for: resource, hashes) == nil, "nobody else makes a token")
    }
  }

  /// Sends a server requests with any parameters. The relay refuses all calls.
  private static func form(_ choices: inout Choices) throws(Broken) {
    guard let url = PublicURL("https://relay.example") else { throw Broken("an address") }
    var origins = OriginPolicy()
    origins.hosts = [url.authority]
    var server = OAuthServer(
      policy: OAuthPolicy(), at: url, originPolicy: origins, hashes: hashes, now: .zero)
    let routes: [OAuthRoute] = [.authorize, .token, .revoke, .register]
    for number in 1...20 as ClosedRange<UInt64> where !choices.isEmpty {
      let (choice, id) = (choices.byte(), RequestID(number))
      var call = OAuthCall(
        choice & 4 == 0 ? .get : .post, routes[Int(choice) % 4], address: "x",
        parameters: parameters(&choices))
      call.fields.host = url.authority
      call.fields.contentType = "application/x-www-form-urlencoded"
      let fresh = [UInt8](repeating: choice, count: 32)
      var effects = server.handle(.request(id, call, fresh: fresh, wall: wall), at: .zero)
      for case .call(let asked, _, _, _) in effects {
        effects += server.handle(.outcome(asked, .refused(.wrongPair), wall: wall), at: .zero)
      }
      for case .answer(_, let reply) in effects {
        let redirects = reply.fields.contains { $0.name == "Location" }
        try hold(reply.status != 302 || redirects, "a redirect names its place")
        try hold(
          !reply.fields.contains { field in field.value.utf8.contains { $0 < 0x20 } },
          "a field has no control characters")
      }
    }
    try hold(server.brokenInvariants(.thorough) == [], "the server keeps its invariants")
  }

  private static func parameters(_ choices: inout Choices) -> [MCPCall.Pair] {
    let names = [
      "client_id", "redirect_uri", "response_type", "state", "code_challenge", "resource", "scope",
      "code_challenge_method", "grant_type", "code", "refresh_token", "token", "word",
    ]
    return (0..<choices.byte() % 8).map { _ in
      let name = names[Int(choices.byte()) % names.count]
      return MCPCall.Pair(name, choices.text())
    }
  }

  private static func mix(_ bytes: [UInt8]) -> [UInt8] {
    (UInt64(0)..<4).flatMap { lane in
      let hash = bytes.reduce(lane &+ 99) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 &+ lane }
      return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
    }
  }
}
