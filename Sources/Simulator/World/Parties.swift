import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

/// The device: its system, its user, and what it has told the client.
struct Phone {
  var process = Process.dead
  /// Counts the runs of the process; what belongs to an older one is gone.
  var run = 0
  /// What of an earlier launch the client knows; compared to what is so now.
  var told = Told()
  var token: Token
  var isSignedIn = true
  /// The app asked its user to sign in, and they have not yet.
  var isAskedToSignIn = false
  /// What the next refresh of the token brings.
  var refresh = Action.Refresh.works
  /// Answers of the disk that came while it was suspended.
  var held: [StreamModel.Input] = []
  /// How long it was suspended in all.
  var slept = Duration.zero
  var suspendedAt = Instant.zero
  var doom: Doom?
  /// How far its wall clock was set.
  var wallOffset = Duration.zero
  /// Calls of the store, and refreshes, that will still be answered.
  var calls = 0
  /// The change that the store works on; a kill may come before or after it is durable.
  var writing: (id: CommitID, change: TimelineChange)?
  /// What the user wrote so far.
  var sent = 0
  var chance: Chance

  enum Process {
    case running, suspended, dead
  }

  /// How the next kill falls.
  enum Doom {
    /// Between two effects of the next step.
    case step
    /// After a change became durable, and before the client hears of it.
    case durable
  }

  struct Told {
    var lifecycle: Lifecycle?
    var reachability: Reachability?
    var isRealtime = true
    var isReaderSlow = false
    var isOpen = false

    var isReachable: Bool {
      if case .reachable? = reachability { true } else { false }
    }
  }
}

/// The server's side: the real rules over a log that is a value.
struct Backend {
  var server: ShopServer
  var log: ShopLog
  var isRunning = true
  /// Counts its processes; what was asked of an older one is gone.
  var generation = 1
  /// Planned actions that keep it down.
  var downs: [Int] = []
  /// The deploy whose drain is under way.
  var draining: Int?
  var wallOffset = Duration.zero
  var newestToken = 1
  /// Tokens up to this number are refused.
  var revoked = 0
  /// The action whose post will kill it.
  var deadlyPost: Int?
  /// What it sends next is too large for the phone.
  var isNextOversized = false
  /// Requests of others: their answers go nowhere.
  var lastRequest: UInt64 = 1 << 40
  /// Messages of others so far.
  var said = 0
  var chance: Chance

  init(kind: ServerKind, weather: Weather, chance: Chance) {
    var chance = chance
    log = ShopLog(kind, pages: weather.pages)
    server = ShopServer(
      policy: Self.policy(kind, weather), seed: chance.next(), at: .zero)
    self.chance = chance
  }

  static func policy(_ kind: ServerKind, _ weather: Weather) -> ShopServerPolicy {
    var policy = ShopServerPolicy()
    switch kind {
    case .positions: policy.dialect = .positions
    case .plain: policy.dialect = .plain
    }
    policy.pingInterval = weather.ping
    policy.pongWait = weather.ping + .seconds(6)
    return policy
  }
}

/// The way between the two.
struct Network {
  var lines: [Line] = []
  var exchanges: [Exchange] = []
  var lastNumber: Number = 0
  /// Names the present way out of the device.
  var path = 1
  /// Connections that are kept for the next request have died without a word. The shell forgets
  /// them when the device says anything, and when silence ended a socket.
  var poolIsDead = false
  var lastRequest = Instant.zero
  /// Until when nothing passes; what stands is delayed.
  var holeUntil = Instant.zero
  var upFree = Instant.zero
  var downFree = Instant.zero
  var chance: Chance

  mutating func newNumber() -> Number {
    lastNumber += 1
    return lastNumber
  }

  func line(_ number: Number) -> Int? { lines.firstIndex { $0.number == number } }

  func line(of attempt: AttemptID, run: Int) -> Int? {
    lines.firstIndex { $0.attempt == attempt && $0.run == run }
  }

  /// Dials and requests of the phone that will still be answered.
  var underWay: Int {
    var count = 0
    for line in lines where line.phoneHolds && !line.isOpen && !line.isDead { count += 1 }
    for exchange in exchanges where !exchange.isAbandoned { count += 1 }
    return count
  }

  func exchange(_ number: Number) -> Int? { exchanges.firstIndex { $0.number == number } }

  /// How long something takes one way.
  mutating func delay(_ weather: Weather) -> Duration {
    weather.delay + chance.duration(below: weather.jitter)
  }

  mutating func happens(_ share: Double) -> Bool { share > 0 && chance.unit() < share }
}
