import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct RequestTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var call: Call
    var credential: Credential
    var answer: Answer
  }

  static let rows: [Row] = {
    let read = Call.page(Stage.shop, .page(number: 1, limit: 20))
    let wrong = ShopRefusal(route: .page, status: 400, message: "limit")
    let unknown = ShopRefusal(route: .unknown, status: 404, message: "no such route")
    let noToken = Answer.error(401, "no token")
    let expired = Stage.refusal("the token has expired")
    return [
      Row(testDescription: "no token", call: read, credential: .missing, answer: noToken),
      Row(
        testDescription: "a bad signature", call: read, credential: .invalid(reason: "signature"),
        answer: Stage.refusal("invalid token: signature")),
      Row(
        testDescription: "a token that ends now", call: read,
        credential: Stage.token(ttl: .zero), answer: expired),
      Row(
        testDescription: "another shop's token", call: read,
        credential: Stage.token(shops: [Stage.other]), answer: Stage.notAMember),
      Row(
        testDescription: "a post without a token", call: .send(Stage.draft("x")),
        credential: .missing, answer: noToken),
      Row(
        testDescription: "a post into another shop",
        call: .send(Stage.draft("x", in: Stage.other)), credential: Stage.token(),
        answer: Stage.notAMember),
      Row(
        testDescription: "all messages of another shop", call: .all(Stage.other),
        credential: Stage.token(), answer: Stage.notAMember),
      Row(
        testDescription: "a bad query", call: .refused(wrong), credential: Stage.token(),
        answer: .error(400, "limit")),
      Row(
        testDescription: "a bad query without a token", call: .refused(wrong),
        credential: .missing, answer: noToken),
      Row(
        testDescription: "a wrong method without a token",
        call: .refused(
          ShopRefusal(route: .page, status: 405, message: "this route takes GET", allow: "GET")),
        credential: .missing, answer: .error(405, "this route takes GET", allow: "GET")),
      Row(
        testDescription: "an unknown route without a token", call: .refused(unknown),
        credential: .missing, answer: .error(404, "no such route")),
      Row(
        testDescription: "stream health without a token", call: .streamHealth,
        credential: .missing,
        answer: Answer(
          200,
          .streamHealth(
            ShopStreamHealth(isServing: true, connections: 0, shops: 0, uptime: .zero)))),
    ]
  }()

  @Test(arguments: rows) func `answers at once if no store is needed`(row: Row) {
    var served = Served()
    #expect(served.ask(row.call, as: row.credential) == [.answer(RequestID(1), row.answer)])
  }

  @Test func `accepts a token until the nanosecond before it expires`() {
    var served = Served()
    let page = PageQuery.page(number: 1, limit: 20)
    let effects = served.ask(.page(Stage.shop, page), as: Stage.token(ttl: .nanoseconds(1)))
    #expect(effects == [.page(StoreToken(1), Stage.shop, page)])
  }

  /// The server's clock may be up to 5 s slow.
  @Test(arguments: [
    (Duration.seconds(-1), true), (.zero, true), (.milliseconds(4_999), true), (.seconds(5), true),
    (.milliseconds(5_001), false), (.seconds(3_600), false),
  ])
  func `accepts a token from its not-before time on`(begin: Duration, isTaken: Bool) {
    var served = Served()
    var claims = Stage.claims()
    claims.notBefore = Stage.dawn.advanced(by: begin)
    let page = PageQuery.page(number: 1, limit: 20)
    let effects = served.ask(.page(Stage.shop, page), as: .valid(claims))
    let refused = Stage.refusal("the token is not valid yet")
    #expect(
      effects == [
        isTaken ? .page(StoreToken(1), Stage.shop, page) : .answer(RequestID(1), refused)
      ])
  }

  @Test func `answers a page with the stored messages and their total`() {
    var served = Served()
    let query = PageQuery.after(Stage.position(3), limit: 20)
    #expect(
      served.ask(.page(Stage.shop, query)) == [.page(StoreToken(1), Stage.shop, query)])
    let page = Page(messages: [], hasNext: false, head: Stage.position(10))
    #expect(
      served.take(.stored(StoreToken(1), .page(page, total: 7))) == [
        .answer(RequestID(1), Answer(200, .page(page, query, total: 7)))
      ])
  }

  @Test func `answers all messages oldest first`() throws {
    var served = Served()
    let query = PageQuery.page(number: 1, limit: 1_000)
    #expect(served.ask(.all(Stage.shop)) == [.page(StoreToken(1), Stage.shop, query)])
    let messages = (1...3).map { offset in
      ShopMessage(
        id: UUID128(high: 0, low: offset), shop: Stage.shop, user: "ann", username: "ANN",
        text: "\(offset)", createdAt: Stage.dawn, position: Stage.position(offset))
    }
    let page = Page(messages: messages.reversed(), hasNext: false, head: Stage.position(3))
    #expect(
      served.take(.stored(StoreToken(1), .page(page, total: 7))) == [
        .answer(RequestID(1), Answer(200, .messages(messages)))
      ])
  }

  @Test(arguments: [
    StoreFailure.full(detail: ""), .locked(detail: ""), .corrupt(detail: ""),
    .fromTheFuture(found: 2, supported: 1), .denied(detail: ""), .other(detail: ""),
  ])
  func `answers 503 when the store fails a read`(failure: StoreFailure) {
    var served = Served()
    _ = served.ask(.all(Stage.shop))
    #expect(
      served.take(.stored(StoreToken(1), .failed(failure))) == [
        .answer(RequestID(1), Stage.storeFailed)
      ])
  }

  @Test func `treats a store answer of the wrong kind as a failure`() {
    var served = Served()
    _ = served.ask(.all(Stage.shop))
    #expect(
      served.take(.stored(StoreToken(1), .head(Stage.position(1)))) == [
        .answer(RequestID(1), Stage.storeFailed)
      ])
  }

  @Test func `ignores a store answer that no request waits for`() {
    var served = Served()
    _ = served.ask(.all(Stage.shop))
    let page = Page(messages: [], hasNext: false)
    _ = served.take(.stored(StoreToken(1), .page(page, total: 7)))
    #expect(served.take(.stored(StoreToken(1), .page(page, total: 7))) == [])
    #expect(served.take(.stored(StoreToken(9), .page(page, total: 7))) == [])
  }

  @Test func `sends nothing to a client that disconnected`() {
    var served = Served()
    _ = served.ask(.all(Stage.shop))
    #expect(served.take(.abandoned(RequestID(1))) == [])
    let page = Page(messages: [], hasNext: false)
    #expect(served.take(.stored(StoreToken(1), .page(page, total: 7))) == [])
  }

  @Test func `lets requests wait up to the limit and refuses the next`() {
    var served = Served { $0.maxRequests = 2 }
    #expect(served.ask(.all(Stage.shop)).count == 1)
    #expect(
      served.ask(.all(Stage.shop)) == [
        .page(StoreToken(2), Stage.shop, .page(number: 1, limit: 1_000))
      ])
    #expect(served.ask(.all(Stage.shop)) == [.answer(RequestID(3), Stage.busy)])
  }

  @Test func `counts abandoned requests while the store works for them`() {
    var served = Served { $0.maxRequests = 1 }
    _ = served.ask(.all(Stage.shop))
    _ = served.take(.abandoned(RequestID(1)))
    #expect(served.ask(.all(Stage.shop)) == [.answer(RequestID(2), Stage.busy)])
  }

  @Test func `refuses a user who posts faster than the rate, and only that user`() {
    var served = Served.opened { $0.postBurst = 2 }
    _ = served.ask(.send(Stage.draft("1")))
    _ = served.ask(.send(Stage.draft("2")))
    let tooFast = Answer.error(429, "too many messages", retryAfter: .milliseconds(50))
    #expect(served.ask(.send(Stage.draft("3"))) == [.answer(RequestID(3), tooFast)])
    #expect(served.ask(.send(Stage.draft("4")), as: Stage.token("bob")) == [])
    served.pass(.milliseconds(50))
    #expect(served.ask(.send(Stage.draft("5"))) == [])
  }
}
