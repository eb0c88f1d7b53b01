import LinkCore
import LinkWire
import MessageStream

/// A phone of a message stream beside its twin, to which anything is said and done.
struct StreamPhoneWalk: TwinWalk {
  var chance: Chance
  var house: StreamPhoneHouse
  let settings: StreamSettings
  var model: StreamModel
  var twin: StreamPhoneTwin
  private var disk = KeptTimeline()
  private(set) var now = Instant.zero
  var stray: String?
  // What was asked for and is not answered yet.
  private var commit: (id: CommitID, change: TimelineChange)?
  private var isLoading = false
  private var reads: (key: TimelineKey, limit: Int)?
  private var fetches: [(id: FetchID, query: PageQuery)] = []
  private var posts: [(entry: OutboxEntry, turn: TryID)] = []
  private var dial: (attempt: AttemptID, after: Position?)?
  private var pings: [(AttemptID, UInt64)] = []
  private var wantsToken = false
  /// How many messages of the log went over the present socket.
  private var sent = 0

  init(_ settings: StreamSettings, isPlain: Bool, _ chance: Chance) {
    (self.settings, self.chance) = (settings, chance)
    house = StreamPhoneHouse(settings.shop, isPlain: isPlain, Chance(seed: self.chance.next()))
    model = StreamModel(settings: settings, seed: 0)
    twin = StreamPhoneTwin(settings, seed: 0)
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    for _ in 0..<number(0...20) { house.talk(at: wall) }
    launch()
    for _ in 0..<steps where stray == nil { happen() }
    return stray
  }

  private var wall: Timestamp {
    Timestamp(nanoseconds: 1_768_000_000_000_000_000 + now.nanoseconds)
  }

  private mutating func launch() {
    let seed = chance.next()
    model = StreamModel(settings: settings, seed: seed)
    twin = StreamPhoneTwin(settings, seed: seed)
    (commit, isLoading, reads, dial) = (nil, false, nil, nil)
    (fetches, posts, pings, wantsToken) = ([], [], [], false)
    give(.credentials(.available(expiresIn: nil)))
    give(.reachability(.reachable(path: PathID("wifi"))))
    give(.lifecycle(.foreground, at: wall))
    if happens(3) { give(.user("me")) }
    give(.open(at: wall))
  }

  /// Gives both an input, or lets time pass, and notes the first difference.
  mutating func give(_ input: StreamModel.Input?) {
    guard stray == nil else { return }
    let effects = input.map { model.handle($0, at: now) } ?? model.tick(at: now)
    stray = twin.stray(of: model, after: input, effects, at: now)
    if let found = stray, let input { stray = found + " after \("\(input)".prefix(500))" }
    for effect in effects { note(effect) }
  }

  private mutating func note(_ effect: StreamModel.Effect) {
    switch effect {
    case .open(let attempt, let after): dial = (attempt, after)
    case .close(let attempt, _): if dial?.attempt == attempt { dial = nil }
    case .ping(let attempt, let id): pings.append((attempt, id))
    case .fetch(let id, let query): fetches.append((id, query))
    case .post(let entry, let turn): posts.append((entry, turn))
    case .load: isLoading = true
    case .commit(let id, let change): commit = (id, change)
    case .readOlder(let key, let limit): reads = (key, limit)
    case .refreshCredentials: wantsToken = true
    case .update: return
    }
  }

  // Steps.

  private mutating func happen() {
    pass()
    if wantsToken, happens(3) { renew() }
    switch number(0...32) {
    case 0...6: store()
    case 7...11: answer()
    case 12...18: hear()
    case 19...21: user()
    case 22, 23: write()
    case 24: device()
    case 25: odd()
    case 26...28: reply()
    case 29: house.change(at: wall)
    case 30: for _ in 0..<number(1...9) { house.talk(at: wall) }
    case 31: if happens(3) { leave() }
    case _: if happens(6) { launch() }
    }
  }

  private mutating func renew() {
    wantsToken = false
    give(.credentials(.available(expiresIn: nil)))
  }

  /// The app is left for a while.
  private mutating func leave() {
    give(.lifecycle(.background, at: wall))
    if happens(2) { pass() }
    for _ in 0..<number(0...6) { house.talk(at: wall) }
    if happens(3) { now = now.advanced(by: .seconds(number(10...40))) }
    give(nil)
    give(.lifecycle(.foreground, at: wall))
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .zero, .milliseconds(200), .milliseconds(999), .seconds(1), .seconds(3),
    ]
    let until = now.advanced(by: happens(40) ? one([.seconds(31), .seconds(130)]) : one(waits))
    while let due = model.deadline, due <= until, stray == nil, !happens(40) {
      now = max(now, due)
      give(nil)
    }
    now = max(now, until)
  }

  /// The store answers, if it was asked.
  private mutating func store() {
    let failure: StoreFailure = one([
      .full(detail: ""), .locked(detail: ""), .corrupt(detail: ""), .other(detail: ""),
      .denied(detail: ""), .fromTheFuture(found: 2, supported: 1),
    ])
    let fails = happens(9)
    if isLoading {
      isLoading = false
      give(fails ? .loadFailed(failure) : .loaded(disk.load(limit: settings.memory)))
    } else if let (key, limit) = reads, happens(2) || commit == nil {
      reads = nil
      give(fails ? .olderFailed(failure) : .older(disk.older(than: key, limit: limit)))
    } else if let (id, change) = commit {
      commit = nil
      give(fails ? .commitFailed(id, failure) : .committed(id, disk.commit(change)))
    } else if happens(9) {
      give(happens(2) ? .committed(CommitID(0), TimelineCommit()) : .loaded(TimelineSnapshot()))
    }
  }

  private var failure: LinkFailure {
    mutating get {
      if happens(3) { return .http(status: 401, retryAfter: nil, detail: "") }
      return StreamPhoneHouse.failures[number(0...StreamPhoneHouse.failures.count - 1)]
    }
  }

  /// A request for a page is answered, or fails.
  private mutating func answer() {
    guard !fetches.isEmpty else { return }
    let place = number(0...fetches.count - 1)
    let (id, query) = fetches[place]
    if !happens(12) { fetches.remove(at: place) }
    if happens(10) {
      if happens(3) { renew() }
      return give(.fetchFailed(id, failure))
    }
    give(.fetched(id, house.page(query)))
  }

  /// A post is answered, or fails, or is never heard of.
  private mutating func reply() {
    guard !posts.isEmpty else { return }
    let place = number(0...posts.count - 1)
    let (entry, turn) = posts[place]
    if !happens(9) { posts.remove(at: place) }
    if happens(4) {
      if happens(4) { renew() }
      let long = LinkFailure.http(status: 413, retryAfter: nil, detail: one(["", "long"]))
      return give(.postFailed(entry.id, try: turn, happens(6) ? long : failure))
    }
    let message = house.take(entry, at: wall)
    switch number(0...5) {
    case 0: give(.postFailed(entry.id, try: turn, happens(2) ? .timeout(.response) : .reset))
    case 1: return
    case _: give(.posted(entry.id, message))
    }
  }

  private mutating func write() {
    let parent = happens(3) ? house.anyID() : nil
    give(.send(text: one(["a", "b"]), parent: parent, at: wall))
  }

  private mutating func user() {
    let id = one(model.outbox.entries.map(\.id) + [UUID128(high: 0, low: 0)])
    switch number(0...13) {
    case 0...4: give(.loadOlder)
    case 5: give(.refresh)
    case 6: give(.retry(id))
    case 7: give(.discard(id))
    case 8: give(.reader(isBehind: happens(3)))
    case 9: give(.realtime(!happens(3)))
    case 10: if happens(3) { give(.close) }
    case 11: give(.user(one(["me", "you"])))
    case _: give(.open(at: wall))
    }
  }

  private mutating func device() {
    let changes: [StreamModel.Input] = [
      .reachability(.reachable(path: PathID("wifi"))),
      .reachability(.reachable(path: PathID("wifi"))),
      .reachability(.reachable(path: PathID("cell"))), .reachability(.unreachable),
      .lifecycle(.foreground, at: wall), .lifecycle(.foreground, at: wall),
      .lifecycle(.background, at: wall), .woke(at: wall),
      .woke(at: wall.advanced(by: .seconds(number(-300...300)))),
      .credentials(.available(expiresIn: happens(2) ? .seconds(90) : nil)),
      .credentials(.available(expiresIn: nil)), .credentials(.refreshFailed),
    ]
    let ends: [StreamModel.Input] = [.credentials(.rejected), .credentials(.cleared)]
    give(one(happens(9) ? ends : changes))
  }

  private mutating func odd() {
    let attempt = happens(4) ? AttemptID(99) : dial?.attempt ?? AttemptID(98)
    let inputs: [StreamModel.Input] = [
      .frame(attempt, .unknown(type: "x")), .frame(attempt, .malformed(.badDate(field: "x"))),
      .frame(attempt, .malformed(.missing(field: "x"))),
      .frame(attempt, .malformed(.missing(field: "y"))),
      .frame(attempt, .draining(within: .seconds(number(0...9)))), .ping(attempt),
      .oversized(attempt, bytes: 9), .lost(attempt, failure), .lost(attempt, failure),
    ]
    if let (attempt, id) = pings.popLast() { give(.pong(attempt, id)) }
    give(one(inputs))
  }

  /// The socket opens, or brings what comes next.
  private mutating func hear() {
    guard let (attempt, after) = dial else { return }
    if model.link.status.phase != .connected {
      if happens(6) { return give(.lost(attempt, failure)) }
      let tells = !house.isPlain && !happens(5)
      let start = tells && !happens(3) ? after : nil
      sent = start.map { Int($0.offset) } ?? house.messages.count
      return give(.opened(attempt, head: tells ? house.head : nil, after: start))
    }
    // A log that was put back goes on from there.
    if sent > house.messages.count { sent = max(0, house.messages.count - number(0...3)) }
    if sent >= house.messages.count, happens(2) { house.talk(at: wall) }
    if happens(9) { sent += 1 }
    guard sent < house.messages.count, !happens(6) else {
      if let message = house.any() { give(.frame(attempt, .message(message))) }
      return
    }
    give(.frame(attempt, .message(house.worded(house.messages[sent]))))
    sent += 1
  }
}

extension StreamPhoneWalk {
  /// A walk with settings whose bounds are soon reached, on either kind of server.
  init?(_ chance: Chance) {
    guard let shop = ShopID("shop") else { return nil }
    var chance = chance
    func draw(_ range: ClosedRange<Int>) -> Int {
      Int(chance.unit() * Double(range.count)) + range.lowerBound
    }
    var settings = StreamSettings(
      shop: shop, policy: .messageStream, user: draw(0...1) == 0 ? "me" : nil)
    settings.historyPage = draw(3...5)
    settings.catchUpPage = draw(2...5)
    settings.catchUpPages = draw(2...5)
    settings.memory = draw(8...27)
    settings.longAbsence = .seconds(draw(8...60))
    settings.overlap = .seconds(4)
    settings.outboxLimit = 3
    settings.malformedLimit = 2
    settings.fetchTimeout = .seconds(3)
    settings.sendRetries = .exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0, floor: .zero, attempts: 2)
    settings.sendsOnly = draw(0...7) == 0
    let isPlain = draw(0...1) == 0
    self.init(settings, isPlain: isPlain, chance)
  }
}
