import LinkCore
import LinkWire

@testable import MessageStream

/// A phone with one stream, its disk, a network and a server: no task, no clock, no real chance.
///
/// `step()` jumps to whatever comes next: a deadline of the model, or a delivery.
struct StreamWorld {
  static let epochStart = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

  /// What is deliberately broken, to show that the ledger sees it.
  enum Sabotage {
    /// The fetch after a connect finds nothing, whatever was missed.
    case emptyCatchUp
    /// The store writes a cursor that lies beyond what it has.
    case eagerCursor
    /// The store calls every message new.
    case forgetfulStore
  }

  private(set) var now = Instant.zero
  var chance: Chance
  var settings: StreamSettings
  var model: StreamModel
  var disk = Disk()
  var shop: Shop
  var net = Net()
  var server = Server()
  var phone = Phone()
  var queue = EventQueue()
  var ledger = Ledger()
  var log = Log()
  var sabotage: Sabotage?
  /// Counts what others said; each stamp is a little later than the one before.
  var said = 0
  /// How often each own text was accepted.
  var accepted: [String: Int] = [:]
  /// What the model asked for by itself in the present second.
  private var pace = (second: Int64(0), count: 0)

  init(
    _ kind: Shop.Kind, seed: UInt64 = 1, change: (inout StreamSettings) -> Void = { _ in }
  ) {
    guard let id = ShopID("shop") else { preconditionFailure("a plain word is a shop id") }
    settings = StreamSettings(shop: id, policy: .messageStream, user: "me")
    change(&settings)
    shop = Shop(kind, id: id)
    chance = Chance(seed: seed)
    model = StreamModel(settings: settings, seed: seed)
  }

  var wall: Timestamp { Self.epochStart.advanced(by: Instant.zero.duration(to: now)) }

  /// Makes one thing happen; false when nothing is left to happen.
  @discardableResult
  mutating func step(until end: Instant = Instant(nanoseconds: .max)) -> Bool {
    let deadline = phone.isSuspended || !phone.isRunning ? nil : model.deadline
    guard let next = [deadline, queue.next].compactMap(\.self).min(), next <= end else {
      return false
    }
    now = max(now, next)
    if let at = queue.next, at <= now, let event = queue.pop() {
      happen(event)
    } else {
      notePace()
      carryOut(model.tick(at: now))
      if let left = model.deadline, left <= now { ledger.blame("a deadline that does not move") }
    }
    return true
  }

  /// A model that asks for much within a second spins.
  private mutating func notePace() {
    let second = now.nanoseconds / 1_000_000_000
    if second != pace.second { pace = (second, 0) }
    pace.count += 1
    if pace.count == 1000 { ledger.blame("spins at \(second) s") }
    if pace.count > 4000 { phone.isRunning = false }
  }

  /// Lets time pass.
  mutating func pass(_ duration: Duration) {
    let end = now.advanced(by: duration)
    while step(until: end) {}
    now = end
  }

  /// Lets time pass until something is so, or `limit` is over; says whether it came.
  @discardableResult
  mutating func drive(
    within limit: Duration = .seconds(600), until isDone: (StreamWorld) -> Bool
  ) -> Bool {
    let end = now.advanced(by: limit)
    while !isDone(self) {
      guard step(until: end) else {
        now = end
        return isDone(self)
      }
    }
    return true
  }

  /// Gives the model an input and does what it wants.
  mutating func give(_ input: StreamModel.Input) {
    guard phone.isRunning else { return }
    carryOut(model.handle(input, at: now))
  }

  private mutating func happen(_ event: Event) {
    switch event {
    case .input(let process, let input): if process == phone.process { arrive(input) }
    case .socket(let socket, let input): arrive(input, over: socket)
    case .fetch(let process, let id, let query, let token):
      answerFetch(process, id, query, token)
    case .upgrade(let socket, let after, let token): answerUpgrade(socket, after, token)
    case .post(let process, let entry, let number, let token):
      answerPost(process, entry, number, token)
    case .pings(let socket): serverPings(socket)
    case .commit(let process, let id, let change):
      if process == phone.process { commit(id, change) }
    case .refresh(let process): if process == phone.process { refreshed() }
    }
  }

  /// A suspended process hears nothing until it goes on.
  private mutating func arrive(_ input: StreamModel.Input) {
    if phone.isSuspended { phone.held.append(input) } else { give(input) }
  }

  private mutating func arrive(_ input: StreamModel.Input, over socket: Socket) {
    guard socket.process == phone.process else { return }
    guard net.isUp(socket) else { return }
    if case .opened = input { phone.sockets.insert(socket) }
    if case .lost = input { phone.sockets.remove(socket) }
    arrive(input)
  }

  mutating func carryOut(_ effects: [StreamModel.Effect]) {
    for effect in effects {
      if effect.costs { notePace() }
      carryOut(effect)
    }
  }

  private mutating func carryOut(_ effect: StreamModel.Effect) {
    let process = phone.process
    switch effect {
    case .open(let attempt, let after):
      dial(Socket(process: process, attempt: attempt), after: after)
    case .close(let attempt, let code): hangUp(Socket(process: process, attempt: attempt), code)
    case .ping(let attempt, let id): phonePings(Socket(process: process, attempt: attempt), id)
    case .refreshCredentials:
      queue.add(.refresh(process: process), at: now.advanced(by: .milliseconds(200)))
    case .fetch(let id, let query): ask(id, query)
    case .post(let entry, let number): post(entry, number)
    case .load(let limit): load(limit)
    case .commit(let id, let change):
      queue.add(
        .commit(process: process, id, change), at: now.advanced(by: disk.delay))
    case .readOlder(let key, let limit): readOlder(key, limit)
    case .update(let update): ledger.note(update)
    }
  }
}

extension StreamModel.Effect {
  /// Whether it keeps a radio, a server or a disk busy without the user's wish.
  var costs: Bool {
    switch self {
    case .open, .close, .ping, .refreshCredentials, .fetch, .post, .load, .commit: true
    case .readOlder, .update: false
    }
  }
}

/// What was asked of the outside, and when.
struct Log {
  var opens: [Instant] = []
  var closes: [UInt16] = []
  var fetches: [(at: Instant, query: PageQuery)] = []
  var posts: [(at: Instant, entry: OutboxEntry)] = []
  var refreshes = 0

  /// Seconds between things that happened.
  static func waits(_ times: [Instant]) -> [Double] {
    zip(times, times.dropFirst()).map { Double($0.duration(to: $1).nanoseconds) / 1e9 }
  }
}
