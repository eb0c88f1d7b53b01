import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

/// One phone, its user, a server and its other users.
struct StreamWorld<Client: StreamClient>: SimulatedWorld, ~Copyable {
  typealias Feature = StreamFeature

  var kernel: Kernel<StreamFeature>
  var clients: [Client]
  let shop: ShopID
  /// The numbers that the client really uses.
  let settings: StreamSettings
  var seam: StreamSeam
  var phone: Phone
  var backend: Backend
  var screen = Screen()
  /// How the store looks to a client that is answered before anything is durable.
  var shadow: KeptTimeline?

  let phoneID: HostID
  let server: HostID

  /// What the user does and sees, and what the app keeps of them.
  struct Phone {
    var token: StreamToken
    /// The app asked its user to sign in, and they have not yet.
    var isAskedToSignIn = false
    /// What the next refresh of the token brings.
    var refresh = TokenRefresh.works
    /// What the client was told in this run.
    var told = Told()
    /// What the user wrote so far.
    var sent = 0

    struct Told {
      var isRealtime = true
      var isReaderSlow = false
      var isOpen = false
    }
  }

  /// What the user sees of history, and what the world waits to see shown.
  struct Screen {
    var hasMore = true
    /// Answers to the wish for older messages.
    var histories = 0
    var awaited: String?
  }

  /// The real rules over a log that is a value.
  struct Backend {
    var rules: ShopServer
    var log: ShopLog
    var newestToken = 1
    /// Tokens up to this number are refused.
    var revoked = 0
    /// The act whose post will kill it.
    var deadlyPost: Int?
    /// What it sends next is too large for the phone.
    var isNextOversized = false
    /// Requests of others: their answers go nowhere.
    var lastRequest: UInt64 = 1 << 40
    /// Messages of others on their way to the log; one that is refused counts until a restart.
    var posting = 0
    /// The last offset that the log had when it was put back.
    var longest: UInt64 = 0
    /// Messages of others so far.
    var said = 0
    /// Sockets of the user's other devices, and the act that each is of.
    var rivals: [TrafficID: Int] = [:]
    var lastRival: TrafficID = 1 << 50
    /// How many frames are still sent to a socket of those that it is owed.
    var owed: [TrafficID: Int] = [:]
  }

  init(
    _ plan: WorldPlan<StreamFeature>, _ setup: RunSetup<StreamFeature>,
    watch: RunWatch<StreamFeature>?
  ) {
    guard let shop = ShopID("shop") else { preconditionFailure("a word of letters is a shop id") }
    self.shop = shop
    kernel = Kernel(plan, setup, watch: watch)
    phoneID = kernel.host(.phone)
    server = kernel.host(.backend)
    seam = StreamSeam(setup.defect)
    var meant = StreamSettings(shop: shop, policy: setup.policy)
    meant.historyPage = plan.numbers.historyPage
    meant.catchUpPage = plan.numbers.catchUpPage
    meant.memory = plan.numbers.memory
    var real = seam.settings(meant)
    real.policy = kernel.policy
    settings = real
    let token = StreamToken(
      number: 1, expiresAt: Kernel<StreamFeature>.wallBase.advanced(by: plan.numbers.tokenLife))
    phone = Phone(token: token)
    backend = Backend(
      rules: ShopServer(policy: ShopServerPolicy(), seed: 0, at: .zero),
      log: ShopLog(
        plan.server, pages: plan.numbers.pages, ignoresSince: plan.numbers.ignoresSince == 1,
        pageCap: plan.numbers.pageCap))
    clients = [Client(settings: real, seed: 0)]
    var state = StreamState(settings: meant, server: plan.server, backlog: clients[0].backlog)
    state.pages = plan.numbers.pages
    state.stampsLate = plan.numbers.lateStamps > 0
    var standing = Standing<StreamFeature>(
      policy: setup.policy, status: clients[0].status, own: state)
    standing.secrets.insert(token.secret)
    kernel.bench.views = [PhoneView(standing)]
    if seam.acknowledgesEarly { shadow = KeptTimeline() }
  }

  // Processes.

  mutating func boot(_ host: HostID) {
    guard host == phoneID else { return bootServer() }
    phone.told = Phone.Told()
    screen = Screen(awaited: screen.awaited)
    if shadow != nil { shadow = disk }
    seam.launched()
    let seed = kernel.hosts[host.place].chance.next()
    clients[0] = Client(settings: settings, seed: seed)
  }

  func deadline(of host: HostID) -> Instant? {
    host == server && kernel.hosts[host.place].isRunning ? backend.rules.deadline : nil
  }

  mutating func tick(_ host: HostID) {
    let effects = backend.rules.tick(at: now)
    kernel.examine(&backend.rules)
    perform(effects)
  }

  var phoneWall: Timestamp { wall(phoneID) }
  var serverWall: Timestamp { wall(server) }
  var disk: KeptTimeline { kernel.bench.views[0].standing.own.disk }
  var isServerRunning: Bool { kernel.hosts[server.place].isRunning }

  // Defects.

  mutating func altered(_ input: StreamModel.Input, of phone: HostID) -> [StreamModel.Input] {
    seam.inputs(input)
  }

  mutating func altered(_ effect: StreamModel.Effect, of phone: HostID) -> [StreamModel.Effect] {
    seam.effects(effect)
  }

  // Cues.

  mutating func take(_ cue: StreamFeature.Cue, on host: HostID?) {
    switch cue {
    case .signsIn: signIn()
    case .othersPost(let left): othersPost(left)
    case .logAnswers(let token, let question): answer(token, question)
    case .refreshed(let outcome): refreshed(outcome)
    case .input(let input): give(input, to: phoneID)
    case .rival(let id, let isGone): rivalAnswers(id, isGone: isGone)
    case .change: return  // becomes durable instead
    }
  }

  // Acts.

  mutating func begin(_ verb: StreamVerb, _ act: Act<StreamVerb>, _ index: Int) {
    switch verb {
    case .others: othersPost(act.number)
    case .send: if isInHand { send() }
    case .loadOlder: if isInHand { give(.loadOlder, to: phoneID) }
    case .pullToRefresh: if isInHand { give(.refresh, to: phoneID) }
    case .retryFailed: if isInHand { retryFailed() }
    case .beginAnew: beginAnew(keeping: act.number, index)
    case .beginAlike: beginAlike(without: act.number, index)
    case .putBack: putBack(by: act.number, index)
    case .edit: edit(act.number)
    case .rivals: openRivals(act.number, index)
    case .trim: backend.log.trim(keeping: act.number)
    case .dieAfterNextPost: backend.deadlyPost = index
    case .revokeTokens:
      backend.revoked = backend.newestToken
      phone.refresh = TokenRefresh(rawValue: act.word) ?? .works
    case .removeMember: if isServerRunning { feed(.removed(membership)) }
    case .oversizedFrame: postLarge()
    case .malformedFrames: sendMalformed(act.number)
    case .leaveScreen, .realtimeOff, .slowReader: return  // the app is told
    case .falseHead, .shortArrears: return  // the next sockets are
    }
  }

  mutating func end(_ act: Act<StreamVerb>, _ index: Int) {
    if backend.deadlyPost == index { backend.deadlyPost = nil }
    closeRivals(of: index)
    let isBack = act.verb == .own(.removeMember) && !isUnderWay(.removeMember)
    if isBack, isServerRunning { feed(.removals([])) }
  }
}
