import HoldfastCore
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

@testable import HoldfastAssistants

/// Tests of clients whose id is the URL of their metadata.
struct OAuthDocumentTests {
  private static let id = "https://app.example/client.json"

  private func document(
    id: String = id, method: String = #""token_endpoint_auth_method":"none","#, more: String = ""
  ) -> [UInt8] {
    Array(
      (#"{"client_id":"\#(id)",\#(method)\#(more)"client_name":"App","#
        + #""redirect_uris":["https://claude.example/callback"]}"#).utf8)
  }

  private func answer(
    _ body: [UInt8], status: Int = 200, type: String? = "application/json", cache: String? = nil,
    age: String? = nil
  ) -> OAuthFetch {
    .answered(status: status, contentType: type, cacheControl: cache, age: age, body: body)
  }

  @Test func `a document is fetched once for all requests, and kept`() {
    var stage = OAuthStage()
    let first = stage.send(.get, .authorize, stage.request(Self.id))
    let second = stage.send(.get, .authorize, stage.request(Self.id))
    #expect(stage.fetches == [Self.id])
    #expect(stage[first].status == 0 && stage.watched.isSuperset(of: [first, second]))
    stage.fetched(Self.id, answer(document()))
    for id in [first, second] {
      #expect(stage[id].status == 200 && stage[id].text.contains("App"))
      #expect(stage[id].text.contains("<dd id=\"site\"><bdi>app.example</bdi></dd>"))
    }
    #expect(!stage.code(Self.id).isEmpty)
    #expect(stage.fetches == [Self.id])
    #expect(stage.assistants() == ["App"])
  }

  @Test func `a client of a document receives and renews tokens`() {
    var stage = OAuthStage()
    stage.send(.get, .authorize, stage.request(Self.id))
    stage.fetched(Self.id, answer(document()))
    let tokens = stage.tokens(Self.id)
    #expect(stage.isGranted(tokens.access))
    stage.pass(.seconds(86_400))
    #expect(stage.refresh(Self.id, tokens.refresh).status == 200)
    #expect(stage.fetches.count == 1)
  }

  @Test(
    arguments: [
      ("no-store", 0), ("no-cache", 0), ("max-age=0", 0), ("max-age=60", 60),
      ("public, max-age=120", 120), (nil, 300), ("private", 300), ("max-age=x", 0),
      ("max-age=999999999999", 86_400), ("max-age=99999999999999999999", 86_400), ("max-age=-1", 0),
      ("max-age=86401", 86_400),
    ] as [(String?, Int64)])
  func `a document is kept as its cache fields say, a day at most (RFC 9111 section 5.2.2)`(
    cache: String?, seconds: Int64
  ) {
    var stage = OAuthStage()
    stage.send(.get, .authorize, stage.request(Self.id))
    stage.fetched(Self.id, answer(document(), cache: cache))
    if seconds > 0 {
      stage.pass(.seconds(seconds) - .nanoseconds(1))
      #expect(stage.ask(.get, .authorize, stage.request(Self.id)).status == 200)
      #expect(stage.fetches.count == 1)
      stage.pass(.nanoseconds(1))
    }
    let late = stage.send(.get, .authorize, stage.request(Self.id))
    #expect(stage.fetches.count == 2)
    stage.fetched(Self.id, answer(document(), cache: cache))
    #expect(stage[late].status == 200)
  }

  @Test func `the age of a document counts (RFC 9111 section 4.2.3)`() {
    var stage = OAuthStage()
    stage.send(.get, .authorize, stage.request(Self.id))
    stage.fetched(Self.id, answer(document(), cache: "max-age=60", age: "59"))
    #expect(stage.ask(.get, .authorize, stage.request(Self.id)).status == 200)
    stage.pass(.seconds(1))
    stage.send(.get, .authorize, stage.request(Self.id))
    #expect(stage.fetches.count == 2)
  }

  @Test func `a document that is not valid leads to a page, and is fetched again after 30 s`() {
    let invalid: [OAuthFetch] = [
      .failed, answer([]), answer(Array("[]".utf8)), answer(document(), status: 404),
      answer(document(), status: 302), answer(document(id: "https://app.example/other.json")),
      answer(document(method: #""token_endpoint_auth_method":"private_key_jwt","#)),
      answer(document(more: #""client_secret":"x","#)),
      answer(document() + [UInt8](repeating: 0x20, count: 65_536)),
      answer(Array(#"{"client_id":"\#(Self.id)"}"#.utf8)),
    ]
    for fetch in invalid {
      var stage = OAuthStage()
      let id = stage.send(.get, .authorize, stage.request(Self.id))
      stage.fetched(Self.id, fetch)
      #expect(stage[id].status == 400 && stage[id].field("Location") == nil)
      #expect(stage.ask(.get, .authorize, stage.request(Self.id)).status == 400)
      #expect(stage.fetches.count == 1)
      stage.pass(.seconds(30))
      stage.send(.get, .authorize, stage.request(Self.id))
      #expect(stage.fetches.count == 2)
    }
  }

  @Test(
    arguments: [
      ("application/json", true), ("Application/JSON; charset=utf-8", true),
      ("application/client-metadata+json", true), ("application/x+JSON;v=1", true),
      ("text/html", false), ("text/plain; x=application/json", false), ("text/x+json", false),
      ("application/jsonp", false), ("application/xjson", false), ("", false), (nil, false),
    ] as [(String?, Bool)])
  func `a document is JSON by its Content-Type`(type: String?, isUsed: Bool) {
    var stage = OAuthStage()
    let id = stage.send(.get, .authorize, stage.request(Self.id))
    stage.fetched(Self.id, answer(document(), type: type))
    #expect(stage[id].status == (isUsed ? 200 : 400))
    #expect(stage[id].text.contains("Content-Type application/json") == !isUsed)
    let again = stage.ask(.get, .authorize, stage.request(Self.id))
    #expect(again.text.contains("Content-Type application/json") == !isUsed)
  }

  @Test func `the redirects of a document that cannot be used are left out`() {
    for (redirects, isUsed) in [
      (#""cursor://x/cb","https://claude.example/callback""#, true), (#""cursor://x/cb""#, false),
    ] {
      var stage = OAuthStage()
      let id = stage.send(.get, .authorize, stage.request(Self.id))
      let text = #"{"client_id":"\#(Self.id)","redirect_uris":[\#(redirects)]}"#
      stage.fetched(Self.id, answer(Array(text.utf8)))
      #expect(stage[id].status == (isUsed ? 200 : 400))
    }
  }

  @Test func `a document without a method is one of a public client`() {
    var stage = OAuthStage()
    let id = stage.send(.get, .authorize, stage.request(Self.id))
    stage.fetched(Self.id, answer(document(method: "")))
    #expect(stage[id].status == 200)
  }

  @Test(arguments: [
    "https://app.example", "http://app.example/x", "https://app.example/../x",
    "https://app.example/a/%2E%2e/x", "https://u@app.example/x", "https://app.example/x#y",
    "https://localhost/x", "https://127.0.0.1/x",
  ])
  func `other URLs are no documents`(id: String) {
    var stage = OAuthStage()
    #expect(stage.ask(.get, .authorize, stage.request(id)).status == 400)
    #expect(stage.fetches.isEmpty)
  }

  @Test func `a form whose document must be fetched waits for it, and the pair is used once`() {
    var stage = OAuthStage()
    let pair = [("word", "anchor"), ("code", RelayStage.pair(1).code)]
    let id = stage.send(.post, .authorize, stage.request(Self.id) + pair)
    #expect(stage[id].status == 0 && stage.assistants().isEmpty)
    stage.fetched(Self.id, answer(document()))
    #expect(stage[id].status == 302 && stage[id].query("code") != nil)
  }

  @Test func `a browser that left is not answered, and the document is kept`() {
    var stage = OAuthStage()
    let id = stage.send(.get, .authorize, stage.request(Self.id))
    stage.feed(.abandoned(id))
    stage.fetched(Self.id, answer(document()))
    #expect(stage[id].status == 0)
    #expect(stage.ask(.get, .authorize, stage.request(Self.id)).status == 200)
    stage.fetched("https://app.example/unknown", .failed)
    #expect(stage.server.documents.entries.count == 1)
  }

  @Test func `fetches at once are bounded, and so are those of one address`() {
    var stage = OAuthStage { $0.maxFetches = 2 }
    func ask(_ number: Int, _ address: String) -> RequestID {
      stage.send(.get, .authorize, stage.request("https://app.example/\(number)")) {
        $0.address = address
      }
    }
    let waiting = [ask(1, "a"), ask(2, "b")]
    #expect(waiting.map { stage[$0].status } == [0, 0])
    let busy = ask(3, "c")
    #expect(stage[busy].status == 503 && stage[busy].field("Retry-After") == "2")
    stage.fetched("https://app.example/1", .failed)
    let free = ask(3, "c")
    #expect(stage[free].status == 0)
    for number in [2, 3] { stage.fetched("https://app.example/\(number)", .failed) }
    for number in 10..<19 {
      let id = ask(number, "a")
      #expect(stage[id].status == 0)
      stage.fetched("https://app.example/\(number)", .failed)
    }
    let often = ask(30, "a")
    #expect(stage[often].status == 503 && stage[often].field("Retry-After") == "3")
    let other = ask(30, "d")
    #expect(stage[other].status == 0)
  }

  @Test func `requests that wait for documents are bounded, and keep no others out`() {
    var stage = OAuthStage { $0.maxWaiting = 1 }
    let client = stage.register()
    let tokens = stage.tokens(client)
    func ask(_ number: Int, _ address: Int) -> RequestID {
      stage.send(.get, .authorize, stage.request("https://app\(number).example/x")) {
        $0.address = "\(address)"
      }
    }
    for number in 0..<64 {
      let id = ask(number / 16, number)
      #expect(stage[id].status == 0)
    }
    let (same, other) = (ask(0, 70), ask(9, 71))
    #expect(stage[same].status == 503 && stage[other].status == 503)
    #expect(stage.fetches.count == 4)
    #expect(stage.refresh(client, tokens.refresh).status == 200)
    #expect(!stage.code(client).isEmpty)
    stage.fetched("https://app0.example/x", .failed)
    let free = ask(9, 72)
    #expect(stage[free].status == 0)
  }

  @Test func `at most 16 requests wait for one document, and those that leave make room`() {
    var stage = OAuthStage()
    func ask(_ address: Int) -> RequestID {
      stage.send(.get, .authorize, stage.request(Self.id)) { $0.address = "\(address)" }
    }
    let ids = (0..<16).map { ask($0) }
    #expect(ids.allSatisfy { stage[$0].status == 0 } && stage.fetches.count == 1)
    let beyond = ask(16)
    #expect(stage[beyond].status == 503 && stage[beyond].field("Retry-After") == "2")
    stage.feed(.abandoned(ids[3]))
    let next = ask(17)
    #expect(stage[next].status == 0)
    stage.fetched(Self.id, answer(document()))
    #expect(stage[next].status == 200 && stage[ids[3]].status == 0)
  }

  @Test func `an address and a host have at most two fetches at once`() {
    var stage = OAuthStage()
    func ask(_ id: String, _ address: String) -> Int {
      let request = stage.send(.get, .authorize, stage.request(id)) { $0.address = address }
      return stage[request].status
    }
    #expect(ask("https://a.example/1", "x") == 0 && ask("https://b.example/1", "x") == 0)
    #expect(ask("https://c.example/1", "x") == 503)
    #expect(ask("https://a.example/1", "x") == 0, "it is being fetched already")
    #expect(ask("https://a.example/2", "y") == 0 && ask("https://A.example:8443/3", "z") == 503)
    #expect(ask("https://c.example/1", "z") == 0)
    stage.fetched("https://a.example/1", .failed)
    #expect(ask("https://a.example/3", "x") == 0 && ask("https://d.example/1", "x") == 503)
  }

  @Test func `each request that waits counts for its address`() {
    var stage = OAuthStage()
    for number in 0..<11 {
      let id = stage.send(.get, .authorize, stage.request(Self.id))
      #expect(stage[id].status == (number < 10 ? 0 : 503))
    }
    #expect(stage.fetches.count == 1)
  }

  @Test func `a form that waits keeps only what is needed`() {
    var stage = OAuthStage()
    let junk = (0..<10).map { ("x\($0)", "y") }
    let id = stage.send(
      .post, .authorize, stage.request(Self.id) + junk, body: "&a&a&a")
    guard case .document(_, let call, _)? = stage.server.waiting[id] else {
      Issue.record("the request waits")
      return
    }
    #expect(call.body.isEmpty && call.parameters.count == 8)
  }

  @Test func `the documents that are kept are bounded`() {
    var stage = OAuthStage {
      $0.maxDocuments = 3
      $0.fetchBurst = 1_000
    }
    for number in 0..<100 {
      let id = "https://app.example/\(number)"
      stage.send(.get, .authorize, stage.request(id))
      stage.fetched(id, answer(document(id: id), cache: "max-age=\(100 + number)"))
      #expect(stage.server.documents.entries.count == min(number + 1, 3))
    }
    #expect(
      stage.server.documents.entries.keys.sorted() == [
        "https://app.example/97", "https://app.example/98", "https://app.example/99",
      ])
  }
}
