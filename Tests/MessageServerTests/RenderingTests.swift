import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct RenderingTests {
  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func fields(_ answer: Answer) -> [String] {
    answer.headers.map { "\($0.0): \($0.1)" }
  }

  @Test func `writes errors in the envelope`() {
    #expect(
      Self.text(Answer.error(403, "not a member").bytes)
        == #"{"status":403,"message":"not a member","data":null}"#)
  }

  @Test func `writes both kinds of health reports`() {
    #expect(Self.text(ServiceHealth.ok.bytes) == #"{"status":"ok"}"#)
    #expect(Self.text(ServiceHealth.draining.bytes) == #"{"status":"draining"}"#)
    #expect(
      Self.text(ServiceHealth.failing(reason: "full").bytes)
        == #"{"status":"failing","reason":"full"}"#)
    let health = ShopStreamHealth(
      isServing: true, connections: 3, shops: 2, uptime: .milliseconds(1_999))
    #expect(
      Self.text(Answer(200, .streamHealth(health)).bytes)
        == #"{"status":"ok","active_connections":3,"active_shops":2,"uptime_seconds":1}"#)
  }

  @Test func `writes what a client reads back`() throws {
    let message = ShopMessage(
      id: UUID128(high: 1, low: 2), shop: Stage.shop, user: "ann", username: "ANN", text: "hi",
      createdAt: Stage.dawn, position: Stage.position(1))
    let made = Answer(201, .message(message, note: "Message created successfully")).bytes
    #expect(try Envelope.decodeMessage(made, shop: Stage.shop) == message)
    let page = Page(messages: [message], hasNext: false, head: Stage.position(1))
    let query = PageQuery.page(number: 1, limit: 20)
    #expect(
      try PageCodec.decode(Answer(200, .page(page, query, total: 1)).bytes, shop: Stage.shop)
        == page)
    #expect(
      try PageCodec.decode(Answer(200, .messages([message])).bytes, shop: Stage.shop).messages
        == [message])
    #expect(
      try StreamCodec.decode(Frame.message(message).payload, shop: Stage.shop)
        == .message(message))
    #expect(
      try StreamCodec.decode(Frame.draining(within: .seconds(5)).payload, shop: Stage.shop)
        == .draining(within: .seconds(5)))
  }

  @Test func `writes a plain server's page without positions`() {
    let page = Page(messages: [], hasNext: false)
    let query = PageQuery.page(number: 1, limit: 20)
    #expect(
      Self.text(Answer(200, .page(page, query, total: 0)).bytes)
        == #"{"status":200,"message":"","data":{"messages":[],"pagination":{"page":1,"limit":20,"#
        + #""total_pages":1,"has_next":false,"has_prev":false}}}"#)
  }

  @Test(arguments: [
    (Duration.zero, "1"), (.milliseconds(50), "1"), (.seconds(1), "1"),
    (.seconds(1) + .nanoseconds(1), "2"), (.seconds(5), "5"),
  ])
  func `rounds Retry-After up to whole seconds, at least one`(wait: Duration, seconds: String) {
    let answer = Answer.error(429, "", retryAfter: wait)
    #expect(Self.fields(answer).contains("Retry-After: \(seconds)"))
  }

  @Test func `writes the header fields that belong to each status`() {
    let plain = ["Content-Type: application/json", "Cache-Control: no-store"]
    #expect(Self.fields(.error(404, "")) == plain)
    #expect(Self.fields(.error(401, "")) == plain + ["WWW-Authenticate: Bearer"])
    #expect(
      Self.fields(.error(426, "")) == plain + [
        "Upgrade: websocket", "Sec-WebSocket-Version: 13",
      ])
    #expect(Self.fields(.error(405, "", allow: "GET")) == plain + ["Allow: GET"])
  }

  @Test func `the health of a backend names every failing service`() {
    let (shop, relay) = (
      ServiceHealth.failing(reason: "the shop's"), ServiceHealth.failing(reason: "the relay's")
    )
    #expect(ServiceHealth.overall([.ok, .ok]) == .ok)
    #expect(ServiceHealth.overall([.ok, relay]) == relay)
    #expect(
      ServiceHealth.overall([shop, relay]) == .failing(reason: "the shop's; the relay's"))
    #expect(ServiceHealth.overall([shop, .draining]) == .draining)
  }
}
