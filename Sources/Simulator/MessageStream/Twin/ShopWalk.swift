import LinkCore
import LinkServerCore
import LinkWire

/// A server of message streams beside its second account, to which anything is said and done.
struct ShopWalk: TwinWalk {
  var chance: Chance
  var house: ShopHouse
  var stock = ShopStock(isPlain: false)
  var now = Instant.zero
  /// How far the wall clock is off.
  var drift = Duration.zero
  var sockets: [ConnectionID] = []
  /// Connections of which it is to be told that they are gone.
  var ending: [ConnectionID] = []
  var open: [RequestID] = []
  private var server: ShopServer
  var stray: String?
  private var lastID: UInt64 = 0

  static let shops = ["a", "b", "c"].compactMap { ShopID($0) }
  static let users = ["u", "v", "w"]

  init(_ chance: Chance) {
    self.chance = chance
    server = ShopServer(seed: 0, at: .zero)
    house = ShopHouse(ShopHouse.Numbers(), seed: 0, at: .zero)
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    boot()
    for _ in 0..<steps where stray == nil { happen() }
    comparePage()
    return stray
  }

  var wall: Timestamp {
    Timestamp(nanoseconds: 1_768_000_000_000_000_123 + now.nanoseconds).advanced(by: drift)
  }

  mutating func fresh() -> UInt64 {
    lastID += 1
    return lastID
  }

  // Steps.

  /// Starts a server with other numbers over another store.
  private mutating func boot() {
    comparePage()
    let (policy, numbers) = policy()
    let seed = chance.next()
    server = ShopServer(policy: policy, seed: seed, at: now)
    house = ShopHouse(numbers.usable, seed: seed, at: now)
    (sockets, ending, open) = ([], [], [])
    stock = ShopStock(isPlain: numbers.isPlain)
    for shop in Self.shops {
      let count = happens(16) ? number(99...103) : number(0...3)
      for _ in 0..<count { stock.write(shop, at: wall) }
    }
  }

  mutating func give(_ input: ShopServer.Input?) {
    guard stray == nil else { return }
    let effects = input.map { server.handle($0, at: now) } ?? server.tick(at: now)
    stray = house.stray(of: server, after: input, effects, at: now)
    if happens(4) { look() }
    let atOnce = happens(2)
    for effect in effects {
      stock.take(effect, atOnce: atOnce)
      perform(effect)
    }
  }

  private mutating func look() {
    var check = InvariantCheck(.thorough)
    server.check(&check)
    if let broken = check.broken.first { stray = stray ?? "not so: \(broken)" }
  }

  private mutating func perform(_ effect: ShopServer.Effect) {
    switch effect {
    case .accept(let id, _, _): sockets.append(id)
    case .close(let id, _), .drop(let id), .refuse(let id, _):
      sockets.removeAll { $0 == id }
      if !ending.contains(id) { ending.append(id) }
    case .answer(let id, _): open.removeAll { $0 == id }
    case .append, .page, .head, .send, .ping, .finished: return
    }
  }

  private mutating func comparePage() {
    var page = MetricsPage()
    server.report(to: &page)
    guard stray == nil, page.text != house.page else { return }
    let lines = zip(page.text.split(separator: "\n"), house.page.split(separator: "\n"))
    for (found, must) in lines where found != must {
      stray = stray ?? "the metrics say \(found), and must say \(must)"
    }
    stray = stray ?? "the metrics have other lines"
  }

  private mutating func happen() {
    pass()
    switch number(0...29) {
    case 0...6: request()
    case 7...11: arrive()
    case 12...21: answer()
    case 22...23: leave()
    case 24...25: if !sockets.isEmpty { give(.heard(one(sockets))) }
    case 26...27: seldom()
    case _: burst()
    }
    if server.isFinished, happens(4) { boot() }
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .zero, .milliseconds(1), .milliseconds(5), .milliseconds(15), .milliseconds(50),
    ]
    let longer: [Duration] = [.seconds(1), .seconds(6), .seconds(61)]
    let until = now.advanced(by: happens(20) ? one(longer) : one(waits))
    var rest = 12
    while let due = server.deadline, due <= until, stray == nil, rest > 0, !happens(12) {
      now = max(now, due)
      rest -= 1
      give(nil)
    }
    now = max(now, until)
    if happens(20) { give(nil) }
  }

  /// Lets the same thing happen several times.
  private mutating func burst() {
    let count = number(2...5)
    switch number(0...9) {
    case 0...3: for _ in 0..<count { arrive() }
    case 4...7: for _ in 0..<count { request() }
    case 8: for _ in 0..<count { answer() }
    case _: if happens(4) { flood() }
    }
  }

  private mutating func leave() {
    if happens(3) || ending.isEmpty {
      guard !sockets.isEmpty || happens(3) else { return }
      let id = sockets.isEmpty || happens(9) ? ConnectionID(one([lastID, 9_999])) : one(sockets)
      sockets.removeAll { $0 == id }
      ending.removeAll { $0 == id }
      return give(.gone(id, code: one(Self.codes)))
    }
    let id = ending.removeFirst()
    give(.gone(id, code: one(Self.codes)))
  }

  private static let codes: [UInt16] = [
    1000, 1001, 1003, 1004, 1005, 1006, 1011, 1015, 1016, 999, 3000, 4400, 4401, 4402, 4403, 4404,
  ]

  private mutating func seldom() {
    let member = Membership(shop: one(Self.shops), user: one(Self.users))
    switch number(0...11) {
    case 0, 1: give(.overflowed(sockets.isEmpty ? ConnectionID(9_999) : one(sockets)))
    case 2: give(.removed(member))
    case 3, 4: give(.removals(happens(3) ? [member] : []))
    case 5: if !open.isEmpty { give(.abandoned(one(open))) }
    case 6: drift = one([.zero, .seconds(-3), .milliseconds(2), .seconds(40), .nanoseconds(877)])
    case 7: stock.write(one(Self.shops), at: wall.advanced(by: .milliseconds(number(-9...9))))
    case 8: if happens(3) { stock.begin(one(Self.shops), keeping: number(0...3)) }
    case 9: give(.stored(StoreToken(999_999), .failed(.locked(detail: "late"))))
    case 10: comparePage()
    case _:
      for _ in 0..<number(0...2) { arrive() }
      if happens(2) { give(.drain(within: one([.seconds(3), .milliseconds(1_500)]))) }
    }
  }
}
