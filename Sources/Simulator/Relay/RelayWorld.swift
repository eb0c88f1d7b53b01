import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// Phones, a backend and assistants, in one thread and from one seed.
///
/// Events are taken by time; between them phones and backend are woken at their deadlines.
struct RelayWorld {
  let plan: RelayPlan
  let listen: ((Instant, String) -> Void)?
  var seam: RelaySeam
  var now = Instant.zero
  var queue = EventQueue<Event>()
  var phones: [Phone] = []
  var askers: [Asker] = []
  var backend: Backend
  var lines: [Line] = []
  var lastLine: UInt64 = 0
  var lastAsk: UInt64 = 0
  var lastQuestion = 0
  /// Secrets are numbers here; a phone's and an assistant's never meet.
  var lastSecret = 0
  /// Requests of phones that pull, by their number.
  var pulls: [RequestID: Pulling] = [:]
  var judge = RelayJudge()
  var digest = Digest()
  var counts = RelayRun.Counts()
  var holeUntil = Instant.zero
  var delay: Duration
  var jitter: Duration
  var chance: Chance
  /// Planned things under way.
  var active: [Int] = []
  private var spins = (at: Instant.zero, count: 0)
  private var isAborted = false

  /// What is to happen.
  enum Event {
    case begins(Int)
    case ends(Int)
    case suspends(phone: Int, run: Int)
    case launches(phone: Int)
    case starts(phone: Int)
    case wantsRunning(phone: Int)
    // Sockets.
    case upgradeArrives(UInt64)
    case up(UInt64, PhoneMessage?, ping: UInt64?)
    case down(UInt64, Down)
    case breaks(UInt64, LinkFailure)
    case hungUp(UInt64, code: UInt16)
    case closed(phone: Int, run: Int, AttemptID)
    // Readings.
    case read(phone: Int, run: Int, WorkID, RelayRequestID, HealthQuestion)
    case pullRead(phone: Int, pull: Int, StepID, LeasedQuestion)
    // Pulls.
    case pushArrives(phone: Int)
    case pullArrives(RequestID, RelayPull, secret: Int?)
    case pullFails(RequestID)
    case replies(RequestID, RelayReply)
    // Assistants.
    case signsIn(asker: Int)
    case askArrives(AskID, RelayAsk, secret: Int?, asker: Int)
    case told(AskID, RelayOutcome, asker: Int)
    case leaves(AskID, asker: Int)
    case abandonArrives(AskID)
    // The backend.
    case stored(generation: Int, StoreToken, [RelayChange])
    case minted(generation: Int, RelayServer.Minted)
    case pushed(generation: Int, PhoneID, to: PushAddress, PushOutcome)
    case backendStarts
    case looks
  }

  /// What comes down a socket.
  enum Down {
    case opened
    case message(BackendMessage)
    case ping
    case pong(UInt64)
    case failed(LinkFailure)
  }

  /// One try of a phone to have a socket, and the socket that comes of it.
  struct Line {
    let number: UInt64
    let phone: Int
    let run: Int
    let attempt: AttemptID
    let resume: Int?
    var phoneHolds = true
    var backendHolds = false
    /// The backend told a code on it.
    var isGreeted = false
    /// When nothing passed on it any more, and nobody was told.
    var deadSince: Instant?
    var downFree = Instant.zero
    var upFree = Instant.zero
  }

  init(
    _ plan: RelayPlan, _ defect: RelayBreak?, listen: ((Instant, String) -> Void)?
  ) {
    self.plan = plan
    self.listen = listen
    seam = RelaySeam(defect)
    (delay, jitter) = (plan.delay, plan.jitter)
    chance = Chance(seed: plan.seed)
    backend = Backend(policy: seam.policy(RelayServerPolicy()), delay: plan.storeDelay)
    phones = (0..<RelayPlan.phones).map { index in
      Phone(index: index, profile: chance.next() % 2 == 0 ? .service : .foreground)
    }
    askers = (0..<RelayPlan.askers).map { Asker(index: $0, phone: min($0, RelayPlan.phones - 1)) }
  }

  /// The wall clock of everybody.
  var wall: Timestamp {
    Timestamp(nanoseconds: 1_800_000_000_000_000_000 + now.nanoseconds)
  }

  mutating func play() {
    startBackend()
    for index in plan.actions.indices {
      add(.begins(index), after: plan.actions[index].at)
    }
    for index in phones.indices { launch(index) }
    for index in askers.indices { add(.signsIn(asker: index), after: .seconds(5 + Int64(index))) }
    add(.looks, after: .seconds(10))
    run(until: Instant.zero.advanced(by: plan.length))
    calm()
    judge.conclude(at: now)
  }

  /// Lets the world go on to `end`, or until `isDone` says so.
  mutating func run(until end: Instant, _ isDone: (borrowing RelayWorld) -> Bool = { _ in false }) {
    while !isAborted, !isDone(self) {
      let rings = backend.isRunning ? backend.server.deadline : nil
      let wakes = phones.compactMap(\.deadline).min()
      let due = [rings, wakes].compactMap(\.self).min()
      if let next = queue.next, next <= due ?? next {
        guard next <= end else { break }
        now = next
        if let event = queue.pop() { take(event) }
      } else {
        guard let due, due <= end else { break }
        now = max(now, due)
        countSpin()
        if rings == due { perform(backend.server.tick(at: now)) } else { tickPhones() }
      }
    }
    if !isDone(self) { now = max(now, end) }
  }

  private mutating func countSpin() {
    spins = spins.at == now ? (now, spins.count + 1) : (now, 0)
    guard spins.count > 1000 else { return }
    judge.find(.stuck, now, "a deadline that has come and does not move")
    isAborted = true
  }

  mutating func add(_ event: Event, after wait: Duration) {
    queue.add(event, at: now.advanced(by: wait))
  }

  /// How long a packet takes now.
  var packet: Duration {
    mutating get {
      let time = delay + chance.duration(below: jitter)
      return now < holeUntil ? now.duration(to: holeUntil) + time : time
    }
  }

  mutating func say(_ text: @autoclosure () -> String, _ code: UInt64) {
    digest.mix(UInt64(bitPattern: now.nanoseconds))
    digest.mix(code)
    listen?(now, text())
  }

  private mutating func take(_ event: Event) {
    switch event {
    case .begins(let index): begin(index)
    case .ends(let index): end(index)
    case .suspends(let phone, let run): suspend(phone, run)
    case .launches(let phone): launch(phone)
    case .starts(let phone): start(phone)
    case .wantsRunning(let phone): startAgain(phone)
    case .upgradeArrives(let line): upgradeArrives(line)
    case .up(let line, let message, let ping): arriveUp(line, message, ping: ping)
    case .down(let line, let down): arriveDown(line, down)
    case .breaks(let line, let failure): breaks(line, failure)
    case .hungUp(let line, let code): backendLoses(line, code: code)
    case .closed(let phone, let run, let attempt):
      if phones[phone].run == run { give(phone, .closed(attempt)) }
    case .read(let phone, let run, let work, let id, let question):
      finishReading(phone, run, work, id, question)
    case .pullRead(let phone, let pull, let step, let leased):
      finishPullReading(phone, pull, step, leased)
    case .pushArrives(let phone): wake(phone)
    case .pullArrives(let request, let pull, let secret):
      pullArrives(request, pull, secret: secret)
    case .pullFails(let request): failPull(request)
    case .replies(let request, let reply): replied(request, reply)
    case .signsIn(let asker): signIn(asker)
    case .askArrives, .told, .leaves, .abandonArrives: takeAsk(event)
    case .stored, .minted, .pushed: takeOutside(event)
    case .backendStarts: startBackend()
    case .looks:
      look()
      add(.looks, after: .seconds(10))
    }
  }

  /// How things stand now and then, for what no event tells.
  private mutating func look() {
    // A store that is behind will forget soon.
    if backend.isRunning, backend.writing.isEmpty {
      judge.keeps(backend.kept.questions, wall: wall, now)
    }
    for index in phones.indices {
      checkState(index)
      // Who is away for longer than the grace may have to be paired again.
      let absence = phones[index].lastHere.duration(to: now)
      if absence > backend.policy.grace - .seconds(20) { unpair(index) }
    }
  }
}
