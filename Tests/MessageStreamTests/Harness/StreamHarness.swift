import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

/// A phone with one stream, its disk, a network and a server.
///
/// A test drives the harness without tasks, a real clock or unseeded randomness. `step()` advances
/// time to the next event, which is a deadline of the model or a delivery.
struct StreamHarness {
  static let epochStart = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

  static var settings: StreamSettings {
    guard let id = ShopID("shop") else { preconditionFailure("a plain word is a shop id") }
    return StreamSettings(shop: id, policy: .messageStream, user: "me")
  }

  private(set) var now = Instant.zero
  let settings: StreamSettings
  var model: StreamModel
  var disk = Disk()
  var shop: Shop
  var net = Net()
  var server = Server()
  var phone = Phone()
  var queue = EventQueue()
  var ledger = Ledger()
  var log = Log()
  /// The number of messages that other users have posted. It makes each time stamp slightly later
  /// than the previous one.
  var said = 0
  /// For each text of the user, the number of times that the server accepted it.
  var accepted: [String: Int] = [:]
  /// The source of the ids of sent messages.
  var generator = RandomSource(seed: 1)

  init(
    _ kind: Shop.Kind, seed: UInt64 = 1, change: (inout StreamSettings) -> Void = { _ in }
  ) {
    var settings = Self.settings
    change(&settings)
    self.settings = settings
    shop = Shop(kind, id: settings.shop)
    model = StreamModel(settings: settings, seed: seed)
  }

  var wall: Timestamp { Self.epochStart.advanced(by: Instant.zero.duration(to: now)) }

  /// Processes the next event. Returns false if no event is due by `end`.
  private mutating func step(until end: Instant) -> Bool {
    let deadline = phone.isSuspended || !phone.isRunning ? nil : model.deadline
    guard let next = [deadline, queue.next].compactMap(\.self).min(), next <= end else {
      return false
    }
    now = max(now, next)
    if let at = queue.next, at <= now, let event = queue.pop() {
      happen(event)
      return true
    }
    carryOut(model.tick(at: now))
    if let left = model.deadline, left <= now {
      ledger.blame("a deadline that does not move")
      phone.isRunning = false
    }
    return true
  }

  /// Lets time pass.
  mutating func pass(_ duration: Duration) {
    let end = now.advanced(by: duration)
    while step(until: end) {}
    now = end
  }

  /// Lets time pass until `isDone` returns true or `limit` has elapsed. Returns whether `isDone`
  /// returned true.
  @discardableResult
  mutating func drive(
    within limit: Duration = .seconds(600), until isDone: (StreamHarness) -> Bool
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

  /// Passes an input to the model and carries out its effects.
  mutating func give(_ input: StreamModel.Input) {
    guard phone.isRunning else { return }
    carryOut(model.handle(input, at: now))
  }

  /// Passes an event of the socket to the model.
  mutating func give(_ event: LinkEvent) { give(.link(event, at: wall)) }

  /// Passes a change of the device to the model.
  mutating func give(_ change: DeviceChange) { give(.link(.device(change), at: wall)) }

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

  /// Passes an input to the model, unless the process is suspended.
  private mutating func arrive(_ input: StreamModel.Input) {
    if !phone.isSuspended { give(input) }
  }

  private mutating func arrive(_ input: StreamModel.Input, over socket: Socket) {
    guard socket.process == phone.process, net.isUp(socket) else { return }
    if case .opened = input { phone.sockets.insert(socket) }
    if case .link(.lost, at: _) = input { phone.sockets.remove(socket) }
    arrive(input)
  }

  private mutating func carryOut(_ effects: [StreamModel.Effect]) {
    for effect in effects { carryOut(effect) }
  }

  private mutating func carryOut(_ effect: StreamModel.Effect) {
    let process = phone.process
    switch effect {
    case .open(let attempt, let after):
      dial(Socket(process: process, attempt: attempt), after: after)
    case .close(let attempt, let reason):
      hangUp(Socket(process: process, attempt: attempt), reason.closeCode)
    case .ping(let attempt, let id): phonePings(Socket(process: process, attempt: attempt), id)
    case .refreshCredentials:
      queue.add(.refresh(process: process), at: now.advanced(by: .milliseconds(200)))
    case .fetch(let id, let query): ask(id, query)
    case .post(let entry, let number): post(entry, number)
    case .upload: return  // no image is sent here
    case .load(let limit): load(limit)
    case .commit(let id, let change):
      queue.add(
        .commit(process: process, id, change), at: now.advanced(by: disk.delay))
    case .readOlder(let key, let limit): readOlder(key, limit)
    case .update(let update): ledger.note(update)
    }
  }
}

/// A record of the model's calls to the network, with their times.
struct Log {
  var opens: [Instant] = []
  var closes: [UInt16] = []
  var fetches: [(at: Instant, query: PageQuery)] = []
  var posts: [(at: Instant, entry: OutboxEntry)] = []
  var refreshes = 0

  /// Returns the intervals between successive times, in seconds.
  static func waits(_ times: [Instant]) -> [Double] {
    zip(times, times.dropFirst()).map { Double($0.duration(to: $1).nanoseconds) / 1e9 }
  }
}
