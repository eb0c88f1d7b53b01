import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

/// One phone, its user, a network, a server and its other users, in one thread and from one seed.
///
/// Events are taken by time; between them the client and the server are woken at their deadlines.
/// Whatever happens is told to the judges, with how things stand right after it.
struct World<Client: StreamClient> {
  let plan: Plan
  let settings: StreamSettings
  let shop: ShopID
  let isBroken: Bool
  var seam: Seam
  var now = Instant.zero
  var queue = EventQueue<Event>()
  /// The weather, which is good once calm has come.
  var weather: Weather
  /// Planned actions under way, in the order in which they began.
  var active: [Int] = []
  /// Actions for which the system suspends the process.
  var suspending: [Int] = []
  /// Sleeps that the device announced.
  var dozing: [Int] = []
  var conditions: Conditions
  var phone: Phone
  var network: Network
  var backend: Backend
  var callbacks: Chance
  var screen = Screen()
  var facts: Facts
  var bench = Bench()
  var counts = Counts()
  var digest = Digest()
  var findings: [Finding] = []
  /// Ticks at one instant: a deadline that does not move would be met for ever.
  private var spins = (at: Instant.zero, count: 0)
  private(set) var isAborted = false
  let watch: (Happening, Facts) -> Void
  /// How the store looks to a client that is answered before anything is durable.
  var shadow: Disk?
  var client: Client

  /// What the user sees of history, and what the world waits to see shown.
  struct Screen {
    var hasMore = true
    /// Answers to the wish for older messages.
    var histories = 0
    var awaited: String?
  }

  init(
    _ plan: Plan, _ setup: Setup, shop: ShopID, watch: @escaping (Happening, Facts) -> Void
  ) {
    self.plan = plan
    self.shop = shop
    self.watch = watch
    var seam = Seam(setup.defect)
    isBroken = setup.defect != nil
    var settings = StreamSettings(shop: shop, policy: setup.policy)
    settings.historyPage = plan.weather.historyPage
    settings.catchUpPage = plan.weather.catchUpPage
    settings.memory = plan.weather.memory
    self.settings = seam.settings(settings)
    weather = plan.weather
    conditions = Conditions(plan.weather)
    var root = Chance(seed: plan.seed)
    let token = Token(number: 1, expiresAt: World.wallBase.advanced(by: plan.weather.tokenLife))
    phone = Phone(token: token, chance: Chance(seed: root.next()))
    network = Network(chance: Chance(seed: root.next()))
    backend = Backend(
      kind: plan.server, weather: plan.weather, chance: Chance(seed: root.next()))
    callbacks = Chance(seed: root.next())
    client = Client(settings: self.settings, seed: 0)
    facts = Facts(
      now: .zero, settings: settings, server: plan.server, pages: plan.weather.pages,
      status: client.status, isWhole: false,
      backlog: client.backlog, isAwake: false, isWanted: false, isReachable: true,
      isSignedIn: true, underWay: 0, storeFails: false, secrets: [token.secret], disk: Disk())
    if seam.acknowledgesEarly { shadow = Disk() }
    self.seam = seam
  }

  /// The wall clocks of all parties when a run begins.
  static var wallBase: Timestamp { Timestamp(nanoseconds: 1_800_000_000_000_000_000) }

  /// What the server's clock shows.
  var serverWall: Timestamp {
    Timestamp(nanoseconds: Self.wallBase.nanoseconds + now.nanoseconds)
      .advanced(by: backend.wallOffset)
  }

  /// What the phone's clock shows: it runs a little wrong, and is set now and then.
  var phoneWall: Timestamp {
    let drift = weather.wallDrift == 0 ? 0 : Int64(Double(now.nanoseconds) * weather.wallDrift)
    return Timestamp(nanoseconds: Self.wallBase.nanoseconds + now.nanoseconds + drift)
      .advanced(by: phone.wallOffset)
  }

  /// The time that the client is told.
  var clientNow: Instant { now.advanced(by: .zero - phone.slept) }

  // The loop.

  /// Lets the world go on to `end`, or until `isDone` says so after something happened.
  ///
  /// - Returns: Whether it was done.
  @discardableResult
  mutating func run(until end: Instant, _ isDone: (borrowing World) -> Bool = { _ in false })
    -> Bool
  {
    if isDone(self) { return true }
    while !isAborted {
      let wakes = phone.process == .running ? facts.deadline : nil
      let rings = backend.isRunning ? backend.server.deadline : nil
      let next = queue.next
      let other = min(wakes ?? .max, rings ?? .max)
      if let next, next <= other {
        guard next <= end else { break }
        advance(to: next)
        if let event = queue.pop() { take(event) }
      } else {
        guard other <= end else { break }
        advance(to: max(other, now))
        if rings == other {
          perform(backend.server.tick(at: now))
        } else {
          tick()
        }
      }
      if isDone(self) { return true }
    }
    advance(to: end)
    return false
  }

  private mutating func advance(to time: Instant) {
    if phone.process == .running, isWanted { counts.wanted += now.duration(to: time) }
    now = time
  }

  private mutating func tick() {
    if spins.at == now {
      spins.count += 1
      if spins.count > 1000 {
        findings.append(Finding(.stuck, at: now, "a deadline that has come and does not move"))
        isAborted = true
      }
    } else {
      spins = (now, 0)
    }
    tickClient()
  }

  private mutating func take(_ event: Event) {
    switch event {
    case .begins(let index): begin(index)
    case .ends(let index): end(index)
    case .suspends(let index): suspend(for: index)
    case .dies(let run): if run == phone.run, phone.doom != nil { die() }
    case .signsIn: signIn()
    case .othersPost(let left): othersPost(left)
    case .upgradeArrives(let number): upgradeArrives(number)
    case .heard(let number, let ping): heard(number, ping: ping)
    case .hungUp(let number, let code): serverLoses(number, code: code)
    case .down(let number, let down): arrive(down, over: number)
    case .breaks(let number, let failure): breaks(number, failure)
    case .echoes(let run, let attempt, let failure):
      if run == phone.run, phone.process == .running { give(.lost(attempt, failure)) }
    case .requestArrives(let number): requestArrives(number)
    case .answerArrives(let reply, let isCopy): arrive(reply, isCopy: isCopy)
    case .requestExpires(let number): expire(number)
    case .logAnswers(let generation, let token, let question):
      if generation == backend.generation { answer(token, question) }
    case .becomesDurable(let run, let id, let change): if run == phone.run { store(id, change) }
    case .storeAnswers(let run, let input): if run == phone.run { storeAnswers(input) }
    case .refreshed(let run, let outcome): if run == phone.run { refreshed(outcome) }
    }
  }

  // What is told.

  /// The user looks at the shop, and wants to see it live; the client was told so.
  var isWanted: Bool {
    phone.told.isOpen && phone.told.isRealtime && phone.told.lifecycle == .foreground
  }

  mutating func happen(_ happening: Happening) {
    facts.now = now
    facts.isAwake = phone.process == .running
    facts.isWanted = isWanted
    facts.isSignedIn = phone.isSignedIn
    facts.isReachable = phone.told.isReachable
    facts.underWay = phone.calls + network.underWay
    facts.storeFails = conditions.store == .full || conditions.store == .locked
    digest.note(happening, at: now)
    bench.see(happening, facts)
    watch(happening, facts)
  }

  /// Notes how the client stands.
  mutating func look() {
    facts.status = client.status
    facts.isWhole = client.isWhole
    facts.backlog = client.backlog
    facts.deadline = client.deadline.map {
      phone.slept == .zero ? $0 : $0.advanced(by: phone.slept)
    }
    facts.currentAttempt = client.currentAttempt
  }
}

extension Instant {
  /// The end of time.
  static var max: Instant { Instant(nanoseconds: .max) }
}
