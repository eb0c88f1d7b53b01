import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastUploads
import HoldfastWorldKernel

/// A world with one phone, its user, a server, and the server's other users.
struct StreamWorld<Client: StreamClient>: SimulatedWorld, ~Copyable {
  typealias Feature = StreamFeature

  var kernel: Kernel<StreamFeature>
  var clients: [Client]
  let shop: ShopID
  /// The settings that the client uses.
  let settings: StreamSettings
  var seam: StreamSeam
  var phone: Phone
  var backend: Backend
  var screen = Screen()
  /// The stored data as the client sees it, if changes are acknowledged before they are durable;
  /// otherwise `nil`.
  var shadow: StoredTimeline?

  let phoneID: HostID
  let server: HostID

  /// The user's actions and screen, and the related state of the app.
  struct Phone {
    var token: StreamToken
    /// Whether the app has asked the user to sign in, and the user has not done so.
    var isAskedToSignIn = false
    /// The outcome of the next token refresh.
    var refresh = TokenRefresh.works
    /// The state that was reported to the client in this run.
    var reported = Reported()
    /// The number of messages that the user has written so far.
    var sent = 0
    var images = PhoneImages()

    struct Reported {
      var isRealtime = true
      var isReaderSlow = false
      var isOpen = false
    }
  }

  /// The history that the user sees, and the text that the world expects to be shown.
  struct Screen {
    var hasMore = true
    /// The number of answers to requests for older messages.
    var histories = 0
    var awaited: String?
  }

  /// The server's actual rules, with an in-memory log.
  struct Backend {
    var rules: ShopServer
    var log: ShopLog
    var images = ImageBackend()
    var newestToken = 1
    /// The number of the last refused token. Tokens up to this number are refused.
    var revoked = 0
    /// The index of the planned event that kills the server after its next post.
    var deadlyPost: Int?
    /// Whether the next frame is too large for the phone.
    var isNextOversized = false
    /// The number of the last request from other users. Answers to these requests are discarded.
    var lastRequest: UInt64 = 1 << 40
    /// The number of other users' messages in transit to the log. Refused messages are included
    /// until a restart.
    var posting = 0
    /// The last offset of the log before it was restored to an earlier state.
    var longest: UInt64 = 0
    /// The number of other users' messages so far.
    var othersCount = 0
    /// The number of edits so far.
    var edits = 0
    /// The sockets of the user's other devices, with the indices of their planned events.
    var rivals: [TrafficID: Int] = [:]
    var lastRival: TrafficID = 1 << 50
    /// The number of backlog frames that each socket may still receive.
    var unsentBacklog: [TrafficID: Int] = [:]
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
    meant.wantsEvents = plan.numbers.wantsEvents == 1
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
        pageCap: plan.numbers.pageCap, keepsImages: setup.defect == .keepsImages))
    clients = [Client(settings: real, seed: 0)]
    var state = StreamState(settings: meant, server: plan.server, memoryUse: clients[0].memoryUse)
    state.pages = plan.numbers.pages
    state.stampsLate = plan.numbers.lateStamps > 0
    var phoneState = PhoneState<StreamFeature>(
      policy: setup.policy, status: clients[0].status, own: state)
    phoneState.secrets.insert(token.secret)
    kernel.checkers.views = [PhoneView(phoneState)]
    if seam.acknowledgesEarly { shadow = StoredTimeline() }
  }

  // Processes.

  mutating func boot(_ host: HostID) {
    guard host == phoneID else { return bootServer() }
    phone.reported = Phone.Reported()
    phone.images.launch()
    screen = Screen(awaited: screen.awaited)
    if shadow != nil { shadow = disk }
    seam.launched()
    let seed = kernel.hosts[host.slot].generator.next()
    clients[0] = Client(settings: settings, seed: seed)
  }

  func deadline(of host: HostID) -> Instant? {
    guard host == server, kernel.hosts[host.slot].isRunning else { return nil }
    return [backend.rules.deadline, backend.images.rules.deadline].compactMap(\.self).min()
  }

  mutating func tick(_ host: HostID) {
    let effects = backend.rules.tick(at: now)
    kernel.examine(&backend.rules)
    perform(effects)
    if isServerRunning { tickImages() }
  }

  var phoneWall: Timestamp { wall(phoneID) }
  var serverWall: Timestamp { wall(server) }
  var disk: StoredTimeline { kernel.checkers.views[0].phoneState.own.disk }
  var isServerRunning: Bool { kernel.hosts[server.slot].isRunning }

  // Defects.

  mutating func altered(_ input: StreamModel.Input, of phone: HostID) -> [StreamModel.Input] {
    seam.inputs(input)
  }

  mutating func altered(_ effect: StreamModel.Effect, of phone: HostID) -> [StreamModel.Effect] {
    seam.effects(effect)
  }

  // Scheduled events.

  mutating func take(_ scheduled: StreamFeature.ScheduledEvent, on host: HostID?) {
    switch scheduled {
    case .signsIn: signIn()
    case .othersPost(let left): othersPost(left)
    case .othersChange(let left): othersChange(left)
    case .logAnswers(let token, let question): answer(token, question)
    case .report(let position): feed(.nodes(.told(shop, position)))
    case .imageWork(let effect): carryOut(effect)
    case .refreshed(let outcome): refreshed(outcome)
    case .input(let input): give(input, to: phoneID)
    case .rival(let id, let isClosing): rivalAnswers(id, isClosing: isClosing)
    case .change: return  // This event becomes durable instead.
    }
  }

  // Planned events.

  mutating func begin(
    _ eventKind: StreamEventKind, _ event: PlannedEvent<StreamEventKind>, _ index: Int
  ) {
    switch eventKind {
    case .others: othersPost(event.number)
    case .chat: othersChange(event.number)
    case .send: if isScreenInUse { send() }
    case .sendImage: if isScreenInUse { sendImage() }
    case .change: if isScreenInUse { change(isEdit: event.choice == "edit") }
    case .loadOlder: if isScreenInUse { give(.loadOlder, to: phoneID) }
    case .pullToRefresh: if isScreenInUse { give(.refresh, to: phoneID) }
    case .retryFailed: if isScreenInUse { retryFailed() }
    case .beginAnew: beginAnew(keeping: event.number, index)
    case .beginAlike: beginAlike(without: event.number, index)
    case .putBack: putBack(by: event.number, index)
    case .edit: edit(event.number)
    case .delete: delete(event.number)
    case .rivals: openRivals(event.number, index)
    case .trim: backend.log.trim(keeping: event.number)
    case .remove: removeOld(keeping: event.number)
    case .dieAfterNextPost: backend.deadlyPost = index
    case .dieAfterNextImage: backend.images.deadlyImage = index
    case .dieBeforeNextImagePost: backend.images.deadlyPost = index
    case .cutNextImage: backend.images.isNextCut = true
    case .imagesElsewhere: uploadElsewhere(event.number, index)
    case .revokeTokens:
      backend.revoked = backend.newestToken
      phone.refresh = TokenRefresh(rawValue: event.choice) ?? .works
    case .removeMember: if isServerRunning { remove() }
    case .oversizedFrame: postLarge()
    case .malformedFrames: sendMalformed(event.number)
    case .leaveScreen, .realtimeOff, .slowReader: return  // `reportAppState` reports these.
    case .falseHead, .shortBacklog: return  // They affect the next sockets.
    }
  }

  mutating func end(_ event: PlannedEvent<StreamEventKind>, _ index: Int) {
    if backend.deadlyPost == index { backend.deadlyPost = nil }
    if backend.images.deadlyImage == index { backend.images.deadlyImage = nil }
    if backend.images.deadlyPost == index { backend.images.deadlyPost = nil }
    closeRivals(of: index)
    if !backend.images.elsewhere.isEmpty { deleteElsewhere(of: index) }
    let isBack = event.eventKind == .own(.removeMember) && !isUnderWay(.removeMember)
    guard isBack, isServerRunning else { return }
    feed(.removals([]))
    feedImages(.removals([]))
  }

  private mutating func remove() {
    feed(.removed(membership))
    feedImages(.removals([membership]))
  }
}

// The phone: its app, user, store and tokens.
extension StreamWorld {
  // The app.

  mutating func reportAppState(_ host: HostID, isFirst: Bool) {
    if isFirst, kernel.hosts[host.slot].isSignedIn { giveToken() }
    let isRealtime = !isUnderWay(.realtimeOff)
    if phone.reported.isRealtime != isRealtime {
      phone.reported.isRealtime = isRealtime
      give(.realtime(isRealtime), to: host)
    }
    let isReaderSlow = isUnderWay(.slowReader)
    if phone.reported.isReaderSlow != isReaderSlow {
      phone.reported.isReaderSlow = isReaderSlow
      give(.reader(isBehind: isReaderSlow), to: host)
    }
    let isOpen = !isUnderWay(.leaveScreen)
    if phone.reported.isOpen != isOpen {
      phone.reported.isOpen = isOpen
      give(isOpen ? .open(at: phoneWall) : .close, to: host)
    }
  }

  /// Returns whether the user is viewing the shop and wants live messages, as reported to the
  /// client.
  func isWanted(_ host: HostID) -> Bool {
    phone.reported.isOpen && phone.reported.isRealtime
      && kernel.hosts[host.slot].reported.lifecycle == .foreground
  }

  mutating func look(_ host: HostID) {
    (
      kernel.checkers.views[0].phoneState.own.isWhole,
      kernel.checkers.views[0].phoneState.own.memoryUse
    ) =
      clients[0].holdings()
  }

  /// Whether the user can currently interact with the shop's screen.
  var isScreenInUse: Bool {
    let host = kernel.hosts[phoneID.slot]
    return host.isRunning && !host.conditions.isInBackground && !isUnderWay(.leaveScreen)
  }

  mutating func send() {
    phone.sent += 1
    let id = UUID128.random(using: &kernel.hosts[phoneID.slot].generator)
    give(.send(id: id, text: "own \(phone.sent)", parent: nil, at: phoneWall), to: phoneID)
  }

  /// Retries all failed messages, as a user would do. Those that were deleted are discarded.
  mutating func retryFailed() {
    for entry in disk.outbox {
      guard case .failed(let reason) = entry.state else { continue }
      let wasDeleted = reason == "the message was deleted"
      give(wasDeleted ? .discard(entry.id) : .retry(entry.id), to: phoneID)
    }
  }

  // Effects.

  mutating func perform(_ effect: StreamModel.Effect, of host: HostID) {
    switch effect {
    case .open(let attempt, let after):
      let hello = StreamFeature.Hello(
        after: after, events: settings.wantsEvents, token: phone.token)
      dial(host, attempt, to: server, hello: hello)
    case .close(let attempt, let reason): hangUp(host, attempt, code: reason.closeCode)
    case .ping(let attempt, let id): send(host, attempt, ping: id)
    case .refreshCredentials: refresh()
    case .fetch(let id, let query): ask(.fetch(id, query))
    case .post(let entry, let number): ask(.post(entry, try: number))
    case .upload(let entry, let number): upload(entry, number)
    case .load(let limit):
      read(.loaded((shadow ?? disk).load(limit: limit)), or: { .loadFailed($0) })
    case .commit(let id, let change): commit(id, change)
    case .readOlder(let key, let limit):
      read(.older((shadow ?? disk).older(than: key, limit: limit)), or: { .olderFailed($0) })
    case .update(let update): show(update)
    }
  }

  private mutating func show(_ update: StreamUpdate) {
    switch update {
    case .messages(let messages, _):
      kernel.counts[.shown] += messages.count
      if let awaited = screen.awaited, messages.contains(where: { $0.text == awaited }) {
        screen.awaited = nil
      }
    case .history(let hasMore):
      screen.hasMore = hasMore
      screen.histories += 1
    case .notice(.signIn): askToSignIn()
    case .outboxDone(let id, _): phone.images.remove(id)
    case .status, .edited, .deleted, .gap, .gapClosed, .outbox, .notice: return
    }
  }

  // The store.

  private mutating func read(
    _ answer: StreamModel.Input, or failed: (StoreFailure) -> StreamModel.Input
  ) {
    let isLocked = kernel.hosts[phoneID.slot].conditions.disk == .locked
    let input = isLocked ? failed(.locked(detail: "the device is locked")) : answer
    let wait = diskDelay(phoneID)
    kernel.answerLater(.input(input), to: phoneID, after: wait)
  }

  private mutating func commit(_ id: CommitID, _ change: TimelineChange) {
    let disk = kernel.hosts[phoneID.slot].conditions.disk
    guard var early = shadow, disk == .works || disk == .slow else {
      return write(.change(id, change), on: phoneID)
    }
    let answer = seam.stored(early.commit(change), of: change)
    shadow = early
    kernel.answerLater(.input(.committed(id, answer)), to: phoneID, after: .milliseconds(1))
    write(.change(id, change), on: phoneID, after: .seconds(2))
  }

  mutating func makeDurable(
    _ change: StreamFeature.ScheduledEvent, on host: HostID
  ) -> StreamFeature.ScheduledEvent? {
    guard case .change(let id, let change) = change else { return nil }
    let commit = kernel.checkers.views[0].phoneState.own.disk.commit(change)
    note(.stored(change, commit))
    guard shadow == nil else { return nil }
    return .input(
      .committed(id, kernel.setup.defect != nil ? seam.stored(commit, of: change) : commit))
  }

  func keepsLastWrites(_ host: HostID) -> Bool { shadow == nil }

  func refusedChange(_ change: StreamFeature.ScheduledEvent, isFull: Bool)
    -> StreamFeature.ScheduledEvent
  {
    guard case .change(let id, _) = change else { return change }
    let failure: StoreFailure =
      isFull ? .full(detail: "no space left") : .locked(detail: "the device is locked")
    return .input(.commitFailed(id, failure))
  }

  // Tokens.

  /// Reports the token's user and then the token, as the effect handler does.
  private mutating func giveToken() {
    give(.user("me"), to: phoneID)
    // The remaining lifetime of the token according to the phone's clock.
    let life = phoneWall.duration(to: phone.token.expiresAt)
    give(.credentials(.available(expiresIn: life)), to: phoneID)
  }

  private mutating func refresh() {
    let host = kernel.hosts[phoneID.slot]
    var outcome = host.isSignedIn ? phone.refresh : .isRefused
    guard outcome != .hangs else {
      phone.refresh = .works
      return
    }
    kernel.hosts[phoneID.slot].calls += 1
    var wait = kernel.roundTrip()
    if host.conditions.isUnreachable || host.conditions.portal != nil {
      outcome = .fails
    } else if host.conditions.isHole {
      (outcome, wait) = (.fails, .seconds(12))
    }
    kernel.later(.refreshed(outcome), on: phoneID, after: wait)
  }

  mutating func refreshed(_ outcome: TokenRefresh) {
    kernel.hosts[phoneID.slot].calls -= 1
    guard kernel.hosts[phoneID.slot].isRunning else { return }
    switch outcome {
    case .works:
      newToken()
      giveToken()
    case .fails:
      phone.refresh = .works
      give(.credentials(.refreshFailed()), to: phoneID)
    case .isRefused:
      phone.refresh = .works
      if kernel.hosts[phoneID.slot].isSignedIn {
        kernel.hosts[phoneID.slot].isSignedIn = false
        signInSoon()
      }
      give(.credentials(.rejected), to: phoneID)
    case .hangs: return  // This request is never answered.
    }
  }

  private mutating func newToken() {
    backend.newestToken += 1
    let life = kernel.plan.numbers.tokenLife
    phone.token = StreamToken(
      number: backend.newestToken, expiresAt: serverWall.advanced(by: life))
    kernel.checkers.views[0].phoneState.secrets.insert(phone.token.secret)
  }

  private mutating func signInSoon() {
    let wait = kernel.hosts[phoneID.slot].generator.duration(below: .seconds(70))
    kernel.later(.signsIn, after: .seconds(20) + wait)
  }

  /// Makes the user sign in, because the app reports that it cannot continue otherwise.
  private mutating func askToSignIn() {
    guard !phone.isAskedToSignIn else { return }
    phone.isAskedToSignIn = true
    if kernel.hosts[phoneID.slot].isSignedIn { signInSoon() }
  }

  /// Signs the user in once the app is in the foreground.
  mutating func signIn() {
    let host = kernel.hosts[phoneID.slot]
    guard !host.isSignedIn || phone.isAskedToSignIn else { return }
    guard host.isRunning, !host.conditions.isInBackground else {
      return kernel.later(.signsIn, after: .seconds(20))
    }
    kernel.hosts[phoneID.slot].isSignedIn = true
    phone.isAskedToSignIn = false
    newToken()
    giveToken()
  }
}

// Requests, encoded and decoded as by an HTTP client.
extension StreamWorld {
  mutating func ask(_ request: StreamRequest) {
    let question = StreamFeature.Question(request: request, token: phone.token)
    ask(question, from: phoneID, to: server)
  }

  mutating func requestArrived(
    _ id: TrafficID, _ question: StreamFeature.Question, at server: HostID
  ) {
    switch question.request {
    case .fetch(_, let query): feed(id, call(query), question.token)
    case .post(let entry, _):
      // An own edit or deletion must not fill the log up, either.
      if entry.target != nil, fillsLogUp { return answer(id, refusal(503)) }
      if !diesOfImage(entry) { feed(id, call(entry), question.token) }
    case .image(_, _, let request): imageRequestArrived(id, request, question.token)
    }
  }

  private mutating func feed(_ id: TrafficID, _ call: Call, _ token: StreamToken) {
    feed(.request(RequestID(id), call, credential(of: token), wall: serverWall))
  }

  private func call(_ query: PageQuery) -> Call {
    Call.read(
      method: "GET", path: ShopRoute.paginated(shop).path, query: query.parameters, key: nil,
      events: settings.wantsEvents, body: [], limits: MessageLimits())
  }

  private func call(_ entry: OutboxEntry) -> Call {
    let (method, route, body): (String, ShopRoute, [UInt8]) =
      switch entry.action {
      case .post:
        (
          "POST", .send,
          NewMessage(shop: entry.shop, content: entry.posted).encode()
        )
      case .edit(let id):
        ("PUT", .send, MessageEdit(id: id, text: entry.text, shop: entry.shop).encode())
      case .delete(let id): ("DELETE", .message(id), [])
      }
    let query = method == "DELETE" ? [(name: "shop_id", value: entry.shop.text)] : []
    return Call.read(
      method: method, path: route.path, query: query, key: entry.id.description, body: body,
      limits: MessageLimits())
  }

  func reply(_ answer: Answer) -> StreamFeature.Reply {
    StreamFeature.Reply(
      status: answer.status, retryAfter: answer.retryAfter, bytes: answer.bytes)
  }

  func refusal(_ status: Int) -> StreamFeature.Reply {
    let retryAfter: Duration? = status == 429 || status == 503 ? .seconds(2) : nil
    return reply(.error(status, "not now", retryAfter: retryAfter))
  }

  func bytes(of question: StreamFeature.Question) -> Int {
    switch question.request {
    case .fetch: 500
    case .post(let entry, _): 600 + entry.text.utf8.count
    case .image(_, _, let request): 500 + request.body.count
    }
  }

  func bytes(of reply: StreamFeature.Reply) -> Int { reply.bytes.count + 300 }

  /// Returns whether a response may arrive twice.
  ///
  /// A client completes a post once. Pages are requested by number, so that a copy can be
  /// recognized.
  func mayComeTwice(_ question: StreamFeature.Question) -> Bool {
    if case .fetch = question.request { true } else { false }
  }

  /// Returns a request with the current token, if the request was refused with an older one.
  ///
  /// A refusal of an older token does not mean that the current token is refused.
  func repeated(
    _ question: StreamFeature.Question, after reply: StreamFeature.Reply, of host: HostID
  ) -> StreamFeature.Question? {
    guard reply.status == 401, phone.token.number > question.token.number else { return nil }
    return StreamFeature.Question(request: question.request, token: phone.token)
  }

  mutating func answered(
    _ question: StreamFeature.Question, _ result: Result<StreamFeature.Reply, LinkFailure>,
    to host: HostID
  ) {
    if case .image(let id, let number, _) = question.request {
      imageAnswered(id, number, result)
    } else if let input = input(question.request, result) {
      give(input, to: host)
    }
  }

  private func input(
    _ what: StreamRequest, _ result: Result<StreamFeature.Reply, LinkFailure>
  ) -> StreamModel.Input? {
    switch result {
    case .failure(let failure): return failed(what, failure)
    case .success(let reply):
      guard reply.status == 200 || reply.status == 201 else {
        return failed(what, reply.failure)
      }
      return read(what, reply.bytes)
    }
  }

  private func read(_ what: StreamRequest, _ bytes: [UInt8]) -> StreamModel.Input? {
    do throws(MessageError) {
      switch what {
      case .fetch(let id, _): return .fetched(id, try PageCodec.decode(bytes, shop: shop))
      case .post(let entry, _):
        switch entry.action {
        case .post: return .posted(entry.id, try Envelope.decodeMessage(bytes, shop: shop))
        case .edit: return .edited(entry.id, try Envelope.decodeEdit(bytes, shop: shop))
        case .delete: return .deleted(entry.id, try Envelope.decodeDeletion(bytes, shop: shop))
        }
      case .image: return nil
      }
    } catch {
      return failed(what, .protocolError(detail: "the answer could not be read: \(error)"))
    }
  }

  private func failed(_ what: StreamRequest, _ failure: LinkFailure) -> StreamModel.Input? {
    switch what {
    case .fetch(let id, _): .fetchFailed(id, failure)
    case .post(let entry, let number): .postFailed(entry.id, try: number, failure)
    case .image: nil
    }
  }
}

// The end of a run: no further faults occur, and everything must become complete.
extension StreamWorld {
  mutating func prepareCalm() {
    phone.refresh = .works
    setServerClock()
  }

  /// Signs the user in and opens the shop.
  mutating func becomeCalm() {
    changeLast()
    signIn()
    give(.open(at: phoneWall), to: phoneID)
  }

  /// Corrects the server's clock if it is behind.
  ///
  /// Otherwise the client may not find messages that a plain server stamps far back.
  private mutating func setServerClock() {
    guard let newest = backend.log.messages.map(\.createdAt).max(), serverWall < newest else {
      return
    }
    kernel.hosts[server.slot].wallOffset += serverWall.duration(to: newest)
  }

  mutating func heal() {
    becomeWhole()
    // A refresh hides defects of the catch-up.
    if kernel.plan.server == .plain, hasChanges, kernel.plan.seed % 2 == 0, !kernel.isAborted {
      pull()
    }
    scroll()
    finish()
  }

  mutating func happenLast() {
    screen.awaited = "the last word"
    post(text: "the last word")
  }

  /// Retries, like a user who notices a failure.
  ///
  /// The link may have ended because of a failure that was in transit when the calm phase began,
  /// such as a foreign certificate.
  mutating func tryAgain() {
    retryFailed()
    if phoneState.status.phase == .failed {
      give(.open(at: phoneWall), to: phoneID)
    }
  }

  /// Whether the last message is shown, or is stored because its stamp precedes those of all shown
  /// messages.
  ///
  /// A message with such a stamp appears when the user scrolls up.
  private var hasLast: Bool {
    guard let awaited = screen.awaited else { return true }
    return screen.hasMore
      && disk.ordered.contains { disk.messages[$0.id]?.text == awaited }
  }

  /// Whether everything is complete in the calm phase.
  ///
  /// An abandoned request may still be in transit to the server. Its result must be observed as
  /// well. An abandoned post may be in progress although the client is still waiting for the
  /// answer.
  var isComplete: Bool {
    phoneState.status.phase == .connected
      && phoneState.own.isWhole
      && disk.outbox.isEmpty
      && phoneState.own.memoryUse.unsent == 0
      && !isAheadOfLog
      && hasAllEvents
      && !kernel.exchanges.contains { $0.isAbandoned || $0.question.isPost }
      && hasLast
  }

  /// Whether the phone has all events of the log, if the server sends events to it.
  private var hasAllEvents: Bool {
    guard settings.wantsEvents, kernel.plan.server == .positions else { return true }
    return disk.cursor.position == backend.log.head
  }

  private var phoneState: PhoneState<StreamFeature> { kernel.checkers.views[0].phoneState }

  var complaint: String {
    "\(phoneState.status), whole: \(phoneState.own.isWhole), "
      + "to be sent: \(disk.outbox.count), "
      + "\(phoneState.own.memoryUse)"
  }

  /// Refreshes the screen, which shows what a plain server's newest page says.
  private mutating func pull() {
    let pages = kernel.exchanges.count
    give(.refresh, to: phoneID)
    if kernel.exchanges.count > pages {
      run(until: now.advanced(by: .seconds(60))) { $0.isComplete && $0.kernel.exchanges.isEmpty }
    }
  }

  /// Scrolls up until there are no older messages, and no gaps but those of removed messages.
  private mutating func scroll() {
    for _ in 0..<2000 where !kernel.isAborted {
      if !screen.hasMore, !hasOpenGap {
        if let text = screen.awaited { blame("not shown where history begins: \(text)") }
        return
      }
      let before = screen.histories
      give(.loadOlder, to: phoneID)
      if !run(until: now.advanced(by: .seconds(60)), { $0.screen.histories > before }) {
        blame("older messages were requested, and there was no answer")
        return
      }
    }
    if !kernel.isAborted { blame("scrolling up never ends") }
  }

  mutating func leave() {
    phone.reported.isOpen = false
    give(.close, to: phoneID)
  }

  mutating func blame(_ detail: String) {
    kernel.find(.unhealed, detail)
  }
}
