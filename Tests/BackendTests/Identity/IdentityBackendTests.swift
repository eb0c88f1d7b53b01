import Foundation
import HoldfastAssistants
import HoldfastCore
import HoldfastIdentity
import HoldfastPorts
import HoldfastServerParts
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of a backend that accepts tokens of an identity provider.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct IdentityBackendTests {
  private static let url = "https://id.example/certs"
  private static let messages = "/api/v1/auth/shops/bakery/messages"

  /// Runs `body` against a backend with keys of a file.
  private static func run(
    keys: String = KeptProvider.path("keycloak.json"),
    _ provider: IdentityProvider = KeptProvider.keycloak,
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    try await BackendRig.session(
      {
        $0.identity = IdentityConfiguration(keys: .file(keys), provider: provider)
        $0.assistants.originPolicy.hosts = ["test"]
      }, body)
  }

  /// Runs `body` against a backend with keys of a URL.
  private static func run(
    _ keys: ScriptedKeys, _ body: (BackendRig) async throws -> Void
  ) async throws {
    try await BackendRig.session(
      {
        var identity = IdentityConfiguration(keys: .url(url), provider: KeptProvider.keycloak)
        identity.client = keys
        $0.identity = identity
        $0.assistants.originPolicy.hosts = ["test"]
      }, body)
  }

  @Test func `reads key sets in the forms of two providers`() throws {
    let keycloak = try IssuerKey.readSet(KeptProvider.bytes("keycloak.json"))
    #expect(keycloak.map(\.algorithm) == [.rs256, .es256, .edDSA])
    #expect(keycloak.allSatisfy { $0.id != nil })
    let auth0 = try IssuerKey.readSet(KeptProvider.bytes("auth0.json"))
    #expect(auth0.map(\.algorithm) == [.rs256, .rs256])
  }

  @Test(arguments: [0, 1, 2])
  func `a token in the form of Keycloak is accepted with each algorithm`(
    index: Int
  ) async throws {
    let token = try KeptProvider.tokens("keycloak.tokens")[index]
    try await Self.run { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      let body = #"{"shop_id":"cellar","message":"hello"}"#
      let posted = try await client.ask(
        "POST", "/api/v1/auth/shops/messages", token: token, body: body)
      #expect(posted.status == 201)
      #expect(posted.body.contains(#""user_id":"f1a9c1de-58a5-4a56-8d3b-0c4e5f7b1a22""#))
      #expect(posted.body.contains(#""username":"ann""#))
      #expect(try await rig.client().follow(token: token).status == 101)
      for path in ["/api/health/summary", "/api/sync?deviceId=x"] {
        #expect(try await client.ask("GET", path, token: token).status == 200)
      }
    }
  }

  @Test func `roles give the rights of an admin, also below a name with dots`() throws {
    let token = try KeptProvider.tokens("keycloak.tokens")[0]
    let tokens = try #require(Tokens(secret: [UInt8](repeating: 1, count: 32)))
    let identity = IdentityConfiguration(
      keys: .file(KeptProvider.path("keycloak.json")), provider: KeptProvider.keycloak)
    let authority = try TokenAuthority(
      tokens, provider: identity.provider, source: try KeySource(identity))
    guard case .valid(let claims) = authority.credential(token) else {
      return #expect(Bool(false), "the token is refused")
    }
    #expect(claims.shops == [BackendRig.shop, BackendRig.other])
    #expect(claims.admin == [BackendRig.other])
    #expect(claims.expiresAt == Timestamp(nanoseconds: 7_258_118_400_000_000_000))
  }

  @Test(arguments: [
    ("ann", true), ("jos\u{E9}", true), ("jose\u{301}", false), ("\u{212B}ngstr\u{F6}m", false),
    ("\u{B95}\u{BBE}", true), ("e\u{323}\u{301}", false), ("\u{1F600}", true),
    ("\u{AC01}", true), ("\u{AC00}\u{11A8}", false), ("\u{0}operator", false),
  ])
  func `a user is in normalization form C, so that no two users are equal as texts`(
    user: String, isAccepted: Bool
  ) throws {
    let tokens = try #require(Tokens(secret: [UInt8](repeating: 1, count: 32)))
    let authority = try TokenAuthority(tokens)
    let token = tokens.issue(
      user: user, name: "", shops: [BackendRig.shop],
      until: Timestamp(nanoseconds: 4_102_444_800_000_000_000))
    guard case .valid(let claims) = authority.credential(token) else {
      #expect(!isAccepted)
      return
    }
    #expect(isAccepted && claims.user.utf8.elementsEqual(user.utf8))
  }

  @Test func `a token in the form of Auth0 is accepted`() async throws {
    let token = try KeptProvider.tokens("auth0.tokens")[0]
    try await Self.run(keys: KeptProvider.path("auth0.json"), KeptProvider.auth0) { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      let user = try await client.ask("GET", "/api/sync?deviceId=x", token: token)
      #expect(user.body.contains(#""user":"65f0c2d1a3b4c5d6e7f80912""#))
    }
  }

  @Test func `tokens of the data directory go on working for messages alone`() async throws {
    try await Self.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      let refused = try await client.ask("GET", "/api/health/summary", token: token)
      #expect(refused.status == 401)
      #expect(refused.headers["www-authenticate"]?.contains("invalid_token") == true)
    }
  }

  @Test func `a token of another provider is refused with a challenge`() async throws {
    let token = try KeptProvider.tokens("auth0.tokens")[0]
    try await Self.run { rig in
      let client = try rig.client()
      let challenge =
        #"Bearer error="invalid_token", error_description="invalid token: its key is unknown""#
      for path in [Self.messages, "/api/health/summary"] {
        let answer = try await client.ask("GET", path, token: token)
        #expect(answer.status == 401)
        #expect(answer.headers["www-authenticate"] == challenge)
      }
      let stream = try await rig.client().follow(token: token)
      #expect(stream.status == 401 && stream.headers["www-authenticate"] == challenge)
      let session = try await rig.client().upgrade("/session", "Authorization: Bearer \(token)\r\n")
      #expect(session.status == 401 && session.headers["www-authenticate"] == challenge)
      let none = try await client.ask("GET", Self.messages)
      #expect(none.status == 401 && none.headers["www-authenticate"] == "Bearer")
    }
  }

  @Test func `without a provider, its tokens are malformed`() async throws {
    let token = try KeptProvider.tokens("keycloak.tokens")[0]
    try await BackendRig.run { rig in
      let answer = try await rig.client().ask("GET", Self.messages, token: token)
      #expect(answer.status == 401 && answer.body.contains("malformed"))
    }
  }

  @Test func `a file without usable keys prevents the start`() async throws {
    let scratch = try Scratch()
    try scratch.write(#"{"keys":[]}"#.utf8, to: "keys.json")
    for path in [scratch("keys.json"), scratch("none.json")] {
      await #expect(throws: BackendError.self) { try await Self.run(keys: path) { _ in } }
    }
  }

  @Test func `a request with an unknown key waits for the fetch that is under way`() async throws {
    let token = try KeptProvider.tokens("keycloak.tokens")[1]
    let keys = ScriptedKeys()
    try await Self.run(keys) { rig in
      let waiting = try SocketsClient(port: rig.address.port)
      try waiting.send(
        "GET \(Self.messages) HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(token)\r\n\r\n")
      // The backend serves others meanwhile.
      #expect(try await rig.client().ask("GET", "/healthz").status == 200)
      keys.answer(try KeptProvider.bytes("keycloak.json"))
      #expect(try waiting.response().status == 200)
      #expect(keys.calls.map(\.url) == [Self.url])
      #expect(keys.calls.map(\.maxBodyBytes) == [1 << 20])
      // A second unknown key within a minute is not fetched.
      keys.answer(try KeptProvider.bytes("auth0.json"))
      let other = try KeptProvider.tokens("auth0.tokens")[0]
      let first = try await rig.client().ask("GET", Self.messages, token: other)
      #expect(first.body.contains("wrong issuer"))
      #expect(keys.calls.count == 2)
      let again = try await rig.client().ask("GET", Self.messages, token: token)
      #expect(again.body.contains("its key is unknown"))
      #expect(keys.calls.count == 2)
    }
  }

  @Test func `while no key was ever known, tokens are answered with 503`() async throws {
    let token = try KeptProvider.tokens("keycloak.tokens")[0]
    let keys = ScriptedKeys()
    keys.answer(.failure(.refused))
    try await Self.run(keys) { rig in
      let client = try rig.client()
      let answer = try await client.ask("GET", Self.messages, token: token)
      #expect(answer.status == 503)
      let wait = try #require(answer.headers["retry-after"].flatMap { Int($0) })
      #expect(1...12 ~= wait)
      let sync = try await client.ask("GET", "/api/health/summary", token: token)
      #expect(sync.status == 503 && sync.headers["retry-after"] != nil)
      let session = try await rig.client().upgrade("/session", "Authorization: Bearer \(token)\r\n")
      #expect(session.status == 503)
      #expect(try await client.ask("GET", Self.messages, token: rig.token()).status == 200)
      // SIGHUP asks for the keys at once.
      keys.answer(try KeptProvider.bytes("keycloak.json"))
      try await rig.backend.reload()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
    }
  }

  @Test func `a failed fetch keeps the former keys`() async throws {
    let token = try KeptProvider.tokens("keycloak.tokens")[0]
    let keys = ScriptedKeys()
    keys.answer(try KeptProvider.bytes("keycloak.json"))
    try await Self.run(keys) { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      for answer in [Array("<html>".utf8), Array(#"{"keys":[]}"#.utf8)] {
        keys.answer(answer)
        try await rig.backend.reload()
        #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      }
      #expect(try await client.ask("GET", "/metrics").body.contains("holdfast_token_keys 3"))
    }
  }

  @Test func `keys of a file are reloaded on request, and an invalid file changes nothing`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(try KeptProvider.bytes("auth0.json"), to: "keys.json")
    let token = try KeptProvider.tokens("keycloak.tokens")[0]
    try await Self.run(keys: scratch("keys.json")) { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 401)
      try scratch.write(try KeptProvider.bytes("keycloak.json"), to: "keys.json")
      try await rig.backend.reload()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      try scratch.write("{".utf8, to: "keys.json")
      await #expect(throws: BackendError.self) { try await rig.backend.reload() }
      #expect(try await client.ask("GET", Self.messages, token: token).status == 200)
      // The cache of checked tokens ends with its keys.
      try scratch.write(try KeptProvider.bytes("auth0.json"), to: "keys.json")
      try await rig.backend.reload()
      #expect(try await client.ask("GET", Self.messages, token: token).status == 401)
    }
  }

  @Test func `secrets of health sync and the key of sessions are reloaded on request`()
    async throws
  {
    let scratch = try Scratch()
    let key = try BackendRig.writeKey(in: scratch)
    func write(_ text: String, to name: String) throws {
      try scratch.write(text.utf8, to: name)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: scratch(name))
    }
    try write("ann first-secret-of-ann\n", to: "secrets")
    try await BackendRig.run(in: scratch("data")) {
      ($0.sessionKeyFile, $0.syncSecretFile) = (key, scratch("secrets"))
      $0.assistants.originPolicy.hosts = ["test"]
    } _: { rig in
      let client = try rig.client()
      func status(_ secret: String) async throws -> Int {
        try await client.ask("GET", "/api/health/summary", token: secret).status
      }
      #expect(try await status("first-secret-of-ann") == 200)
      try write("ann second-secret-of-ann\nben first-secret-of-ben\n", to: "secrets")
      let newer = "holdfast-" + String(repeating: "a", count: 32)
      try write(newer, to: "key")
      #expect(try await status("first-secret-of-ben") == 401)
      try await rig.backend.reload()
      #expect(try await status("first-secret-of-ben") == 200)
      #expect(try await status("second-secret-of-ann") == 200)
      #expect(try await status("first-secret-of-ann") == 401)
      _ = try SessionClient(port: rig.address.port, key: newer)
      #expect(throws: (any Error).self) {
        try SessionClient(port: rig.address.port, key: BackendRig.sessionKey)
      }
      try write("ann short\n", to: "secrets")
      await #expect(throws: BackendError.self) { try await rig.backend.reload() }
      try FileManager.default.removeItem(atPath: scratch("secrets"))
      await #expect(throws: BackendError.self) { try await rig.backend.reload() }
      #expect(try await status("second-secret-of-ann") == 200)
      #expect(!FileManager.default.fileExists(atPath: scratch("secrets")))
    }
  }

  @Test func `the program of a prompt knows its user, and a name that only the user can have`()
    async throws
  {
    let token = try KeptProvider.tokens("keycloak.tokens")[0]
    try await BackendRig.session({
      $0.identity = IdentityConfiguration(
        keys: .file(KeptProvider.path("keycloak.json")), provider: KeptProvider.keycloak)
      $0.sessionHandler = #"printf '%s %s' "$HOLDFAST_USER" "$HOLDFAST_CONVERSATION""#
    }) { rig in
      var words: [String] = []
      for client in [
        try SessionClient(port: rig.address.port, token: token), try rig.session(as: "keyed"),
      ] {
        try client.prompt("x", key: "k")
        if case .success(let text) = try client.response().result { words.append(text) }
      }
      try #require(words.count == 2)
      #expect(words[1] == " \(SessionClient.conversation)")
      let parts = words[0].split(separator: " ")
      #expect(parts.first == "f1a9c1de-58a5-4a56-8d3b-0c4e5f7b1a22")
      let name = try #require(parts.last.flatMap { UUID128($0) })
      #expect(name.description.dropFirst(14).first == "8")
      #expect(name.description != SessionClient.conversation)
    }
  }
}

extension SessionClient {
  /// Opens a socket with a token, and connects.
  init(port: UInt16, token: String) throws {
    try self.init(port: port, "Authorization: Bearer \(token)\r\n")
    try say(.connect(SessionConnect(session: "phone")))
    guard case .connected = try message() else { throw BackendRig.NotUpgraded(status: 101) }
  }
}
