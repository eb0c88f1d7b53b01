import LinkCore
import LinkServerCore
import LinkWire

/// What a server of message streams must do, told a second time (seed 001, `docs/seeds/001.md` and
/// the decisions on positions, arrears and drains).
///
/// It shares no rule with the server: its numbers are written out, and what the server counts as it
/// goes is looked up in its lists here.
struct ShopHouse: Sendable {
  /// What the server asks for.
  enum Deed: Sendable, Equatable {
    /// A message for the store.
    struct Entry: Sendable, Equatable {
      var token: StoreToken
      var message: Message
      var key: UUID128?
    }

    case append([Entry])
    case other(ShopServer.Effect)

    init(_ effect: ShopServer.Effect) {
      guard case .append(let all) = effect else {
        self = .other(effect)
        return
      }
      self = .append(
        all.map { Entry(token: $0.token, message: $0.message, key: $0.key) })
    }
  }

  struct Socket: Sendable {
    let id: ConnectionID
    let shop: ShopID
    let user: String
    /// When its token ends.
    let endsAt: Instant
    var stage: Stage
    /// When the server looks at it.
    var bell: Instant?
  }

  enum Stage: Sendable, Equatable {
    case wantsHead(after: Position?)
    case wantsPage
    case open(heardAt: Instant, pingAt: Instant)
    case closes(until: Instant)
  }

  struct Room: Sendable {
    let shop: ShopID
    var head: Position?
    /// When its newest message was created.
    var newest: Timestamp?
    var posts: [Post] = []
    /// How many answers about its log are to come.
    var owed = 0
    /// What was sent to all since a socket began to wait for what came before.
    var recent: [Message] = []
  }

  struct Post: Sendable {
    let request: RequestID
    var message: Message
    let key: UUID128?
  }

  struct Request: Sendable {
    let id: RequestID
    let route: String
    let at: Instant
    var draft: Draft?
  }

  enum Question: Sendable {
    case head(ShopID)
    case post(ShopID, RequestID)
    case history(RequestID)
    case page(RequestID, PageQuery)
    case newest(RequestID, since: Timestamp, PageQuery)
    case missed(ConnectionID, ShopID, after: Position)
  }

  enum Mode: Sendable, Equatable {
    case serves, ended
    case warns(within: Duration, closeAt: Instant, until: Instant)
    case leaves(within: Duration, until: Instant)
  }

  let numbers: Numbers
  let startedAt: Instant
  var now: Instant
  var chance: Chance
  var out: [Deed] = []
  var mode = Mode.serves
  /// In the order of their arrival.
  var sockets: [Socket] = []
  var rooms: [Room] = []
  var requests: [Request] = []
  var waits: [(token: UInt64, question: Question)] = []
  var asked: UInt64 = 0
  var removed: [Membership] = []
  var buckets: [String: Bucket] = [:]
  var failure: StoreFailure?
  var counts: [String: UInt64] = [:]
  var answers: [PartsPage.Answer] = []

  init(_ numbers: Numbers, seed: UInt64, at now: Instant) {
    (self.numbers, startedAt, self.now) = (numbers, now, now)
    chance = Chance(seed: seed)
  }

  // Steps.

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: ShopServer.Input?, at now: Instant) -> [Deed] {
    (self.now, out) = (now, [])
    if let input {
      take(input)
    } else {
      ring()
      goOnLeaving()
    }
    switch mode {
    case .serves, .ended: break
    case .warns, .leaves:
      guard sockets.isEmpty, requests.isEmpty, waits.isEmpty else { break }
      mode = .ended
      say(.finished)
    }
    return out
  }

  var deadline: Instant? {
    var due = sockets.compactMap(\.bell)
    switch mode {
    case .serves, .ended: break
    case .warns(_, let closeAt, let until): due += [closeAt, until]
    case .leaves(_, let until): due.append(until)
    }
    return due.min()
  }

  mutating func say(_ effect: ShopServer.Effect) { out.append(.other(effect)) }
  mutating func count(_ name: String, _ more: Int = 1) { counts[name, default: 0] += UInt64(more) }

  private mutating func take(_ input: ShopServer.Input) {
    switch input {
    case .request(let id, let call, let credential, let wall): ask(id, call, credential, wall)
    case .abandoned(let id): requests.removeAll { $0.id == id }
    case .upgrade(let id, let shop, let after, let credential, let wall):
      upgrade(id, shop, after, credential, wall)
    case .heard(let id):
      guard let place = place(of: id), case .open(_, let pingAt) = sockets[place].stage else {
        return
      }
      sockets[place].stage = .open(heardAt: now, pingAt: pingAt)
    case .overflowed(let id):
      guard isOpen(id) else { return }
      count("slow_readers")
      close(id, 1013, "slow reader")
    case .gone(let id, let code):
      if isOpen(id) { countEnd(code) }
      forget(id)
    case .stored(let token, let answer):
      guard let place = waits.firstIndex(where: { $0.token == token.number }) else { return }
      stored(waits.remove(at: place).question, answer)
    case .removed(let membership):
      removed.append(membership)
      cut([membership])
    case .removals(let all):
      removed = all
      cut(all)
    case .drain(let window): drain(within: window)
    }
  }

  // The end.

  private mutating func drain(within window: Duration) {
    guard mode == .serves else { return }
    mode = .warns(
      within: window, closeAt: now.advanced(by: numbers.drainGrace),
      until: now.advanced(by: numbers.drainLimit))
    for id in ids(where: \.waits) {
      forget(id)
      refuse(id, .error(503, "draining", retryAfter: window))
    }
    let open = ids(where: \.isOpen)
    if open.count > 0 { say(.send(.draining(within: window), to: open)) }
  }

  private mutating func goOnLeaving() {
    if case .warns(let window, let closeAt, let until) = mode, closeAt <= now || until <= now {
      mode = .leaves(within: window, until: until)
      let milliseconds = window.nanoseconds / 1_000_000
      for id in ids(where: \.isOpen) { close(id, 1001, "draining within_ms=\(milliseconds)") }
    }
    guard case .leaves(_, let until) = mode, until <= now else { return }
    for id in requests.map(\.id).sorted() {
      answer(id, .error(503, "the server stopped", retryAfter: numbers.busyRetry))
    }
    for id in ids(where: { _ in true }) { drop(id) }
    waits = []
  }

  /// What is said to every client while the server goes away.
  var farewell: Answer? {
    switch mode {
    case .serves: nil
    case .ended: .error(503, "draining", retryAfter: numbers.busyRetry)
    case .warns(let window, _, _), .leaves(let window, _):
      .error(503, "draining", retryAfter: window)
    }
  }

  /// What is said of it to monitors.
  var health: ServiceHealth {
    guard mode == .serves else { return .draining }
    guard let failure else { return .ok }
    switch failure {
    case .full: return .failing(reason: "the disk of the store is full")
    case .locked: return .failing(reason: "another program holds the store")
    case .corrupt: return .failing(reason: "the store is damaged")
    case .fromTheFuture: return .failing(reason: "the store is of a newer version")
    case .denied: return .failing(reason: "the store cannot be written")
    case .other: return .failing(reason: "the store failed")
    }
  }
}

extension ShopHouse {
  /// Takes a step, and returns what the original did otherwise in it.
  mutating func stray(
    of server: ShopServer, after input: ShopServer.Input?, _ effects: [ShopServer.Effect],
    at now: Instant
  ) -> String? {
    let (found, must) = (effects.map { Deed($0) }, step(input, at: now))
    if found != must {
      let place = zip(found, must).prefix { $0 == $1 }.count
      let (one, two) = (found.dropFirst(place).first, must.dropFirst(place).first)
      return "the server asks for \(Self.short(one)), and must for \(Self.short(two))"
    }
    if server.deadline != deadline {
      return "the server waits until \(Self.short(server.deadline)), not \(Self.short(deadline))"
    }
    if server.isFinished != (mode == .ended) { return "the server is finished, or is not" }
    return server.serviceHealth == health
      ? nil : "the server says that it is \(server.serviceHealth), not \(health)"
  }

  private static func short(_ value: (some Any)?) -> String {
    value.map { String("\($0)".prefix(700)) } ?? "nothing"
  }
}
