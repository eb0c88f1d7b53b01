import LinkCore
import LinkServerCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

/// The second accounts of doors and of proxies.
@Suite struct PartsWalkTests {
  typealias Doors = PartsDoorsWalk
  typealias Proxies = PartsProxiesWalk

  private static func request(
    _ name: Doors.Name, port: String = "", scheme: String = "http://"
  ) -> Doors.Request {
    Doors.Request(name: name, base: name.text, port: port, scheme: scheme)
  }

  @Test func `the account lets this machine in by its names`() {
    let must = Doors.Admission(
      bare: "localhost", host: true, noHost: false, origin: true, noOrigin: true,
      others: [false, false, false, false])
    let local = Self.request(Doors.Name(text: "localhost", isLocal: true), port: ":80")
    #expect(Doors.admission(local, to: WebDoors(), []) == must)
    var (secret, odd) = (local, must)
    secret.scheme = "ftp://"
    odd.origin = false
    #expect(Doors.admission(secret, to: WebDoors(), []) == odd)
    let evil = Self.request(Doors.Name(text: "localhost.evil.example"), port: ":8443")
    #expect(
      Doors.admission(evil, to: WebDoors(), [])
        == Doors.Admission(
          bare: "localhost.evil.example:8443", host: false, noHost: false, origin: false,
          noOrigin: true, others: [false, false, false, false]))
  }

  @Test func `the account lets in named hosts and origins`() {
    var doors = WebDoors()
    (doors.isLocal, doors.ownName) = (false, "192.168.1.7")
    (doors.hosts, doors.origins) = (["proxy.example"], ["https://app.example"])
    let proxy = Self.request(Doors.Name(text: "proxy.example"), port: ":443")
    #expect(
      Doors.admission(proxy, to: doors, [192, 168, 1, 7])
        == Doors.Admission(
          bare: "proxy.example", host: true, noHost: false, origin: false, noOrigin: true,
          others: [true, false, false, false]))
    let own = Doors.Name(text: "[::ffff:192.168.1.7]", address: [192, 168, 1, 7])
    #expect(Doors.admission(Self.request(own), to: doors, [192, 168, 1, 7]).host)
    #expect(!Doors.admission(Self.request(own), to: doors, []).host)
  }

  @Test func `doors that admit otherwise are found`() throws {
    let (doors, request) = (WebDoors(), Self.request(Doors.Name(text: "a.example"), port: ":80"))
    let good = Doors.Admission(doors, request)
    let changes: [(String, (inout Doors.Admission) -> Void)] = [
      ("a.example:80 without its port", { $0.bare += ":80" }),
      ("the host a.example:80 before \(doors)", { $0.host.toggle() }),
      ("no host before \(doors)", { $0.noHost.toggle() }),
      ("the origin http://a.example:80", { $0.origin.toggle() }),
      ("no origin", { $0.noOrigin.toggle() }),
      ("the origins \(Doors.others)", { $0.others[2].toggle() }),
    ]
    try Doors.expect(good, changes) { walk, found in
      walk.compareAdmission(found, Doors.admission(request, to: doors, []), request, doors)
    }
  }

  @Test func `new doors that are open or say something else are found`() throws {
    let text = "Web pages of this origin may not call."
    #expect(try Doors.finding { $0.compareNew(WebDoors(), says: text) } == nil)
    #expect(try Doors.finds("what is said to a page") { $0.compareNew(WebDoors(), says: "No.") })
    var open = WebDoors()
    open.isLocal = false
    #expect(try Doors.finds("a new door is local") { $0.compareNew(open, says: text) })
  }

  @Test func `another client of a connection is found`() throws {
    let proxy = try #require(NetworkAddress("10.0.0.1"))
    let client = try #require(NetworkAddress("192.0.2.1"))
    let fields = Proxies.Fields(values: ["for=192.0.2.1"], hops: [client])
    func compare(_ isTrusted: Bool, _ found: NetworkAddress) throws -> String? {
      try Proxies.finding { walk in
        walk.compareClient(isTrusted, found, of: proxy, fields, Proxies.Fields())
      }
    }
    var proxies = TrustedProxies()
    proxies.blocks = [try #require(AddressBlock("10.0.0.0/8"))]
    let found = proxies.client(of: proxy, forwarded: fields.values, forwardedFor: [])
    #expect(found == client)
    #expect(try compare(proxies.contains(proxy), found) == nil)
    #expect(try compare(false, client) == "\(proxy) is told apart: is false, and must be true")
    #expect(
      try compare(true, proxy)
        == "the client of [\"for=192.0.2.1\"] and [] is \(proxy), and must be \(client)")
  }
}

/// The second account of what all servers share.
@Suite struct PartsOfAllWalkTests {
  @Test func `a time or a refusal that is told otherwise is found`() throws {
    let (second, drain) = (Duration.seconds(1), Closure(1001, "draining within_ms=1000"))
    let refusal = HTTPRefusal(405, "no", retryAfter: .seconds(2), allow: "GET")
    let (fields, body) = (refusal.headers, refusal.bytes)
    try PartsWalk.expect(each: [
      (nil, { $0.compareTime(1, drain, of: second, second) }),
      ("\(second) in seconds", { $0.compareTime(2, drain, of: second, second) }),
      (
        "a drain within \(second)", { $0.compareTime(1, .slowReader, of: second, second) }
      ),
      (nil, { $0.compareRefusal(fields, body, of: refusal) }),
      ("the fields of \(refusal)", { $0.compareRefusal([], body, of: refusal) }),
      ("the body of \(refusal)", { $0.compareRefusal(fields, [], of: refusal) }),
    ])
  }

  @Test func `a health that is told otherwise is found`() throws {
    let (well, body) = (ServiceHealth.ok, ServiceHealth.ok.bytes)
    let checks: [ServiceHealth] = [
      .failing(reason: "no"), .ok, .failing(reason: "the log does not answer"),
    ]
    try PartsWalk.expect(each: [(nil, { $0.compareChecks(checks, of: well, "no") })])
    for place in checks.indices {
      var other = checks
      other[place] = .draining
      let found = other
      try PartsWalk.expect(each: [
        ("\(well), checked,", { $0.compareChecks(found, of: well, "no") })
      ])
    }
    try PartsWalk.expect(each: [
      (nil, { $0.compareHealth(200, body, of: well) }),
      ("the status of \(well)", { $0.compareHealth(503, body, of: well) }),
      ("the body of \(well)", { $0.compareHealth(200, [], of: well) }),
      (nil, { $0.compareAll(.draining, of: [well, .draining]) }),
      ("\([well]) together", { $0.compareAll(.draining, of: [well]) }),
    ])
  }

  @Test func `another page of metrics is found`() throws {
    let answer = PartsPage.Answer(route: "all", status: 200, time: .milliseconds(26))
    var page = MetricsPage()
    page.requests.answered(answer.route, status: answer.status, after: answer.time)
    let text = page.text
    try PartsWalk.expect(each: [
      (nil, { $0.comparePage(text, text, of: [answer]) }),
      ("a page of metrics", { $0.comparePage("", text, of: [answer]) }),
      ("a page that is read twice", { $0.comparePage(text, "", of: [answer]) }),
    ])
  }
}

/// The walk of a phone beside its second account.
@Suite struct StreamPhoneWalkTests {
  private static let wall = Timestamp(nanoseconds: 1_768_000_000_000_000_000)

  @Test func `a phone that asks for something else is found`() throws {
    let stray = try StreamPhoneWalk.finding { walk in
      var settings = walk.settings
      settings.memory += 1
      walk.model = StreamModel(settings: settings, seed: 0)
      walk.give(.open(at: Self.wall))
    }
    #expect(stray?.hasPrefix("the phone of a stream asks for load(") == true)
    #expect(stray?.contains(" after open(at: ") == true)
  }

  @Test func `a phone that waits for another time is found`() throws {
    let stray = try StreamPhoneWalk.finding { walk in
      walk.give(.open(at: Self.wall))
      #expect(walk.stray == nil)
      _ = walk.model.handle(.loadFailed(.locked(detail: "")), at: .zero)
      walk.give(nil)
    }
    #expect(stray?.hasPrefix("the phone of a stream waits until ") == true)
  }

  @Test func `a phone that says that it has something else is found`() throws {
    let message = Message(
      id: UUID128(high: 0, low: 1), shop: try #require(ShopID("shop")), user: "u", username: nil,
      text: "a", createdAt: Self.wall)
    _ = try StreamPhoneWalk.finding { walk in
      walk.give(.open(at: Self.wall))
      #expect(walk.twin.difference(from: walk.model, after: nil) == nil)
      _ = walk.model.handle(.loaded(TimelineSnapshot(messages: [message])), at: .zero)
      let difference = walk.twin.difference(from: walk.model, after: nil)
      #expect(difference?.hasPrefix("says that it has StreamPhoneGlance(") == true)
    }
  }
}
