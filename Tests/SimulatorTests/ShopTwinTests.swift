import LinkCore
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The second accounts of the server of message streams and of what all servers share.
@Suite struct ShopTwinTests {
  private static let wall = Timestamp(nanoseconds: 1_768_000_000_000_001_999)

  private func shop() throws -> ShopID { try #require(ShopID("shop")) }

  private func token(_ shop: ShopID) -> Credential {
    .valid(
      Claims(
        user: "u", name: "U", shops: [shop],
        expiresAt: Self.wall.advanced(by: .seconds(30))))
  }

  /// An account whose first post waits for the head of its shop.
  private func posted(_ shop: ShopID) -> ShopHouse {
    var house = ShopHouse(ShopHouse.Numbers(), seed: 1, at: .zero)
    let post = ShopServer.Input.request(
      RequestID(1), .send(Draft(shop: shop, text: "a")), token(shop), wall: Self.wall)
    #expect(house.step(post, at: .zero) == [.other(.head(StoreToken(1), shop))])
    return house
  }

  @Test func `the account stamps a post in whole microseconds and behind the newest`() throws {
    let shop = try shop()
    for (newest, stamp) in [(Int64(0), Int64(1_000)), (1_000, 2_000), (5_000, 6_000)] {
      var house = posted(shop)
      let head = Position(epoch: "e", offset: 4)
      let base: Int64 = 1_768_000_000_000_000_000
      let effects = house.step(
        .stored(StoreToken(1), .head(head, newest: Timestamp(nanoseconds: base + newest))),
        at: .zero)
      guard case .append(let batch)? = effects.first else {
        Issue.record("nothing is stored")
        return
      }
      #expect(batch.map(\.message.createdAt.nanoseconds) == [base + stamp])
    }
  }

  @Test func `the account refuses whoever is no member and whoever brings no token`() throws {
    var house = ShopHouse(ShopHouse.Numbers(), seed: 1, at: .zero)
    let shop = try shop()
    let other = try #require(ShopID("other"))
    let stranger = house.step(
      .upgrade(ConnectionID(1), other, after: nil, token(shop), wall: Self.wall), at: .zero)
    let words = "not a member of this shop"
    #expect(stranger == [.other(.refuse(ConnectionID(1), .error(403, words)))])
    let nobody = house.step(
      .upgrade(ConnectionID(2), shop, after: nil, .missing, wall: Self.wall), at: .zero)
    #expect(nobody == [.other(.refuse(ConnectionID(2), .error(401, "no token")))])
  }

  @Test func `the account closes a socket with its token, and drops it 5 s later`() throws {
    var house = ShopHouse(ShopHouse.Numbers(), seed: 1, at: .zero)
    let shop = try shop()
    let id = ConnectionID(1)
    let head = Position(epoch: "e", offset: 0)
    _ = house.step(.upgrade(id, shop, after: nil, token(shop), wall: Self.wall), at: .zero)
    let accepted = house.step(.stored(StoreToken(1), .head(head)), at: .zero)
    #expect(accepted == [.other(.accept(id, head: head))])
    #expect(house.deadline == Instant(nanoseconds: 30_000_000_000))
    let closed = house.step(nil, at: Instant(nanoseconds: 30_000_000_000))
    #expect(closed == [.other(.close(id, Closure(4401, "token expired")))])
    let dropped = house.step(nil, at: Instant(nanoseconds: 35_000_000_000))
    #expect(dropped == [.other(.drop(id))])
    #expect(house.deadline == nil)
  }

  @Test func `the account lets a user make 40 posts at once, and one more 50 ms later`() {
    var house = ShopHouse(ShopHouse.Numbers(), seed: 1, at: .zero)
    for _ in 0..<40 { #expect(house.wait(of: "u") == nil) }
    #expect(house.wait(of: "u") == .milliseconds(50))
    house.now = Instant(nanoseconds: 50_000_000)
    #expect(house.wait(of: "u") == nil)
    #expect(house.wait(of: "u") == .milliseconds(50))
  }

  @Test(arguments: [
    (Duration.zero, Int64(1)), (.seconds(-3), 1), (.nanoseconds(1), 1), (.seconds(1), 1),
    (.milliseconds(1_001), 2), (.seconds(70), 70),
  ])
  func `the account waits whole seconds`(time: Duration, seconds: Int64) {
    #expect(PartsWalk.seconds(time) == seconds)
  }

  @Test func `the account writes a page of metrics`() {
    var page = PartsPage()
    page.add("pings_total", "counter", "Pings sent.", 3)
    #expect(
      page.text
        == "# HELP holdfast_pings_total Pings sent.\n# TYPE holdfast_pings_total counter\n"
        + "holdfast_pings_total 3\n")
    var answers = PartsPage()
    answers.add([PartsPage.Answer(route: "all", status: 200, time: .milliseconds(26))])
    let text = answers.text
    #expect(text.contains("holdfast_requests_total{route=\"all\",status=\"200\"} 1\n"))
    #expect(text.contains("holdfast_request_seconds_bucket{le=\"0.025\"} 0\n"))
    #expect(text.contains("holdfast_request_seconds_bucket{le=\"0.100\"} 1\n"))
    #expect(text.contains("holdfast_request_seconds_sum 0.026\n"))
  }

  @Test func `the account follows proxies only as far as they are trusted`() throws {
    let trust = PartsTrust.all[0]
    let proxy = try #require(NetworkAddress("10.0.0.1"))
    let client = try #require(NetworkAddress("192.0.2.1"))
    let liar = try #require(NetworkAddress("192.0.2.2"))
    #expect(trust.client(of: proxy, [liar, client, proxy], nil) == client)
    #expect(trust.client(of: proxy, [liar, nil, proxy], nil) == proxy)
    #expect(trust.client(of: liar, [client], nil) == liar)
    #expect(trust.client(of: proxy, [client], [liar]) == proxy)
  }

  @Test func `the account reads a request by its route`() throws {
    let shop = try shop()
    let reading = ShopCallReading(
      method: "PUT", query: [("odd", "1")], key: nil, body: [], limits: MessageLimits())
    let wrong = ShopRefusal(
      route: .all, status: 405, message: "this route takes GET, HEAD", allow: "GET, HEAD")
    #expect(reading.call(.all(shop)) == .refused(wrong))
    let get = ShopCallReading(
      method: "GET", query: [("odd", "1")], key: nil, body: [], limits: MessageLimits())
    let odd = ShopRefusal(
      route: .all, status: 400, message: "unknown parameter odd; this route knows none")
    #expect(get.call(.all(shop)) == .refused(odd))
  }

  @Test func `a server that asks for less than it must is found`() throws {
    let shop = try shop()
    let input = ShopServer.Input.upgrade(
      ConnectionID(1), shop, after: nil, token(shop), wall: Self.wall)
    var server = ShopServer(seed: 1, at: .zero)
    let effects = server.handle(input, at: .zero)
    var house = ShopHouse(ShopHouse.Numbers(), seed: 1, at: .zero)
    #expect(house.stray(of: server, after: input, effects, at: .zero) == nil)
    house = ShopHouse(ShopHouse.Numbers(), seed: 1, at: .zero)
    #expect(house.stray(of: server, after: input, [], at: .zero) != nil)
  }

  @Test func `a server that counts otherwise is found`() throws {
    var walk = ShopWalk(Chance(seed: 1))
    #expect(walk.walk(200) == nil)
    let stray = try ShopWalk.finding { walk in
      walk.house.count("pings")
      walk.stray = walk.walk(0)
    }
    #expect(stray != nil)
  }

  @Test func `a request that is read otherwise is found`() throws {
    let (shop, call) = (try shop(), Call.streamHealth)
    let get = ShopCallReading(
      method: "GET", query: [], key: nil, body: [], limits: MessageLimits())
    try ShopWordsWalk.expect(each: [
      (nil, { $0.compareCall(call, get, .streamHealth, at: "/p") }),
      ("GET /p [] ", { $0.compareCall(.all(shop), get, .streamHealth, at: "/p") }),
      (nil, { $0.compareRoute(.streamHealth, of: call, .streamHealth) }),
      ("the route of \(call)", { $0.compareRoute(.send, of: call, .streamHealth) }),
      (nil, { $0.compareName("send", isGuarded: true, of: .send) }),
      ("the name of send", { $0.compareName("all", isGuarded: true, of: .send) }),
      ("whether send needs a token", { $0.compareName("send", isGuarded: false, of: .send) }),
    ])
  }

  @Test func `an answer or a frame that is written otherwise is found`() throws {
    let answer = Answer.error(405, "no", retryAfter: .seconds(2), allow: "GET")
    let (fields, body) = (answer.headers, answer.bytes)
    let tree = StreamScribe.envelope(405, "no", .null)
    let message = Message(
      id: UUID128(high: 1, low: 2), shop: try shop(), user: "u", username: nil, text: "a",
      createdAt: Self.wall)
    try ShopWordsWalk.expect(each: [
      (nil, { $0.compareAnswer(fields, body, of: answer, tree) }),
      ("the body of \(answer)", { $0.compareAnswer(fields, [], of: answer, tree) }),
      ("the fields of \(answer)", { $0.compareAnswer([], body, of: answer, tree) }),
      (nil, { $0.compareFrame(Frame.message(message).payload, of: message) }),
      ("a frame", { $0.compareFrame([], of: message) }),
      (nil, { $0.compareNotice(Frame.draining(within: .seconds(1)).payload, of: 1_000) }),
      ("a notice", { $0.compareNotice([], of: 1_000) }),
    ])
  }
}
