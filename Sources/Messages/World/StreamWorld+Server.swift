import HoldfastCore
import HoldfastIdentity
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastServerParts
import HoldfastWorldKernel

// The server: the actual rules, an in-memory log, and the server's other users.
extension StreamWorld {
  // The server's process.

  mutating func bootServer() {
    backend.rules = ShopServer(
      policy: Self.policy(kernel.plan),
      seed: kernel.hosts[server.slot].generator.next(), at: now)
    backend.rivals = [:]
    backend.posting = 0
    bootImages(Self.policy(kernel.plan))
    if hasOtherNodes { feed(.nodes(.connected)) }
    guard isUnderWay(.removeMember) else { return }
    feed(.removals([membership]))
    feedImages(.removals([membership]))
  }

  private static func policy(_ plan: WorldPlan<StreamFeature>) -> ShopServerPolicy {
    var policy = ShopServerPolicy()
    switch plan.server {
    case .positions: policy.dialect = .positions
    case .plain: policy.dialect = .plain
    }
    policy.sharesLog = plan.numbers.elsewhere > 0
    policy.pingInterval = plan.numbers.ping
    policy.pongWait = plan.numbers.ping + .seconds(6)
    return policy
  }

  mutating func drain(_ server: HostID, within time: Duration) {
    feed(.drain(within: kernel.plan.numbers.drainWindow))
    if isServerRunning { feedImages(.drain(within: kernel.plan.numbers.drainWindow)) }
  }

  mutating func feed(_ input: ShopServer.Input) {
    let effects = backend.rules.handle(input, at: now)
    kernel.examine(&backend.rules)
    perform(effects)
  }

  mutating func perform(_ effects: [ShopServer.Effect]) {
    let (spared, dies) = spared(effects, of: server)
    for effect in spared where isServerRunning {
      if !backend.rivals.isEmpty { sendToRival(effect) }
      perform(effect)
    }
    if !backend.unsentBacklog.isEmpty { backend.unsentBacklog = [:] }
    if dies { die(server) }
  }

  private mutating func perform(_ effect: ShopServer.Effect) {
    switch effect {
    case .append(let appends):
      for append in appends { ask(append.token, .append(append.change)) }
    case .shop(let token, let id): ask(token, .shop(id))
    case .forget(let token, _): ask(token, .forget)
    case .page(let token, _, let query), .tail(let token, _, let query):
      ask(token, .page(query))
    case .head(let token, _): ask(token, .head)
    case .heads(let token, _): ask(token, .heads)
    case .tell: return
    case .answer(let id, let response): answer(id.number, reply(response))
    case .accept(let id, let head, let after, let events):
      letIn(id, head: head, after: after, events: events)
    case .refuse(let id, let refusal):
      let detail = Envelope.decodeNote(refusal.bytes) ?? ""
      refuse(id.number, status: refusal.status, retryAfter: refusal.retryAfter, detail: detail)
    case .send(let frame, let listeners): send(frame, to: listeners)
    case .ping(let id): send(.ping, bytes: 60, over: id.number)
    case .close(let id, let closure):
      serverCloses(id.number, code: closure.code, reason: closure.reason)
    case .drop(let id): serverDrops(id.number, .ended)
    case .finished: drained(server)
    }
  }

  mutating func send(_ frame: Frame, to listeners: [ConnectionID]) {
    guard !withholds(listeners) else { return }
    let payload = frame.payload
    let isOversized = backend.isNextOversized
    backend.isNextOversized = false
    for id in listeners {
      let down: Down<StreamFeature.Packet> =
        isOversized ? .oversized(bytes: 20_000) : .packet(.text(payload))
      send(down, bytes: payload.count, over: id.number)
    }
  }

  // Connections.

  mutating func upgradeArrived(
    _ line: TrafficID, _ hello: StreamFeature.Hello, at server: HostID
  ) {
    let life = serverWall.duration(to: hello.token.expiresAt)
    if let index = self.line(line), kernel.lines[index].run == kernel.hosts[phoneID.slot].run {
      note(.admitted(kernel.lines[index].attempt, until: now.advanced(by: life)))
    }
    let credential = seam.admitted(credential(of: hello.token), wall: serverWall)
    feed(
      .upgrade(
        ConnectionID(line), shop, after: hello.after, events: hello.events, credential,
        wall: serverWall))
  }

  mutating func arrived(
    _ packet: StreamFeature.Packet?, on line: TrafficID, at server: HostID
  ) {
    feed(.received(ConnectionID(line)))
  }

  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {
    feed(.gone(ConnectionID(line), code: code))
  }

  func opened(_ attempt: AttemptID, _ packet: StreamFeature.Packet) -> StreamModel.Input {
    switch packet {
    case .opened(let head, let after, let events):
      .opened(
        attempt, head: head.flatMap { ShopPosition($0.description) },
        after: after.flatMap { ShopPosition($0.description) }, events: events ? true : nil)
    case .text: received(attempt, packet)
    }
  }

  func received(_ attempt: AttemptID, _ packet: StreamFeature.Packet) -> StreamModel.Input {
    switch packet {
    case .opened: opened(attempt, packet)
    case .text(let bytes): .frame(attempt, frame(bytes))
    }
  }

  private func frame(_ bytes: [UInt8]) -> StreamModel.Frame {
    do throws(MessageError) {
      switch try StreamCodec.decode(bytes, shop: shop) {
      case .message(let message): return .message(message)
      case .edited(let message): return .edited(message)
      case .deleted(let deletion): return .deleted(deletion)
      case .draining(let window): return .draining(within: window)
      case .unknown(let type): return .unknown(type: type)
      }
    } catch {
      return .malformed(error)
    }
  }

  // The log.

  private mutating func ask(_ token: StoreToken, _ question: LogQuestion) {
    let delay = kernel.hosts[server.slot].conditions.storeDelay
    kernel.later(.logAnswers(token, question), on: server, after: delay)
  }

  mutating func answer(_ token: StoreToken, _ question: LogQuestion) {
    if case .append(let request) = question, request.isOfOthers {
      backend.posting = max(0, backend.posting - 1)
    }
    if let failure = failure(of: question) { return feed(.stored(token, .failed(failure))) }
    switch question {
    case .head: feed(.stored(token, .head(backend.log.head, newest: backend.log.newest)))
    case .heads: feed(.stored(token, .heads([backend.log.head])))
    case .page(let query):
      let answer = backend.log.page(query)
      if answer.isUnrecovered { note(.forgot) }
      feed(.stored(token, answer))
    case .shop(let id): feed(.stored(token, .shop(backend.log.shop(of: id, shop))))
    case .forget: feed(.stored(token, .forgotten))
    case .append(let request): store(request, token)
    }
  }

  private mutating func store(_ request: LogRequest, _ token: StoreToken) {
    switch backend.log.append(restamped(request)) {
    case .failure(let failure): feed(.stored(token, .failed(failure)))
    case .success(let outcome):
      noteImages()
      noteOutcome(outcome)
      if let index = backend.deadlyPost, !request.isOfOthers {
        backend.deadlyPost = nil
        stop(server, for: index)
        kernel.add(.ends(index), after: kernel.plan.events[index].event.span)
      } else {
        feed(.stored(token, .appended(outcome)))
      }
    }
  }

  private mutating func noteOutcome(_ outcome: LogOutcome) {
    switch outcome {
    case .posted(let message, let isNew):
      if isNew { kernel.counts[.accepted] += 1 }
      note(.accepted(message, isNew: isNew))
    case .edited(let message, isNew: true): note(.changed(.edited(message)))
    case .deleted(let deletion, isNew: true): note(.changed(.deleted(deletion)))
    case .edited, .deleted, .refused: return
    }
  }

  /// Stamps a post to a plain server late, or like the previous message, as the plan specifies.
  private mutating func restamped(_ request: LogRequest) -> LogRequest {
    guard case .post(var entry) = request else { return request }
    if kernel.plan.server == .plain {
      entry.message = restamped(entry.message)
    } else if hasOtherNodes {
      entry.message.createdAt = later(entry.message.createdAt)
    }
    return .post(entry)
  }

  /// Returns a time that is later than that of each message in the log.
  private func later(_ time: Timestamp) -> Timestamp {
    let whole = Timestamp(nanoseconds: time.nanoseconds - time.nanoseconds % 1_000)
    return backend.log.newest.map { max(whole, $0.advanced(by: .microseconds(1))) } ?? whole
  }

  /// Whether other nodes write the log.
  private var hasOtherNodes: Bool { kernel.plan.numbers.elsewhere > 0 }

  /// Returns whether another node stores the next change of other users.
  mutating func isElsewhere() -> Bool {
    hasOtherNodes && kernel.hosts[server.slot].generator.unit() < kernel.plan.numbers.elsewhere
  }

  /// Stores a change at another node, and reports it to the server. One report of five is lost, and
  /// some are late or repeated.
  mutating func storeElsewhere(_ request: LogRequest) {
    guard case .success(let outcome) = backend.log.append(restamped(request)) else { return }
    noteImages()
    noteOutcome(outcome)
    guard let position = outcome.event?.position else { return }
    let host = server.slot
    while kernel.hosts[host].generator.unit() < 0.8 {
      let isLate = kernel.hosts[host].generator.unit() < 0.1
      let delay = kernel.hosts[host].generator.duration(
        below: isLate ? .seconds(8) : .milliseconds(50))
      kernel.later(.report(position), on: server, after: delay)
      if kernel.hosts[host].generator.unit() < 0.9 { return }
    }
  }

  private mutating func restamped(_ draft: ShopMessage) -> ShopMessage {
    var message = draft
    let (numbers, host) = (kernel.plan.numbers, server.slot)
    if numbers.lateStamps > 0, kernel.hosts[host].generator.unit() < numbers.lateStamps {
      let late = kernel.hosts[host].generator.duration(below: .seconds(100))
      message.createdAt = message.createdAt.advanced(by: .zero - late)
    } else if numbers.equalStamps > 0, kernel.hosts[host].generator.unit() < numbers.equalStamps,
      let last = backend.log.messages.last?.createdAt,
      last.duration(to: message.createdAt) < .seconds(60)
    {
      message.createdAt = last
    }
    return message
  }

  var membership: Membership { Membership(shop: shop, user: "me") }

  func credential(of token: StreamToken) -> Credential {
    if token.number <= backend.revoked { return .invalid(reason: "revoked") }
    return .valid(
      Claims(user: "me", name: "Me", shops: [shop], expiresAt: token.expiresAt))
  }

  // Other users.

  mutating func othersPost(_ left: Int) {
    // During the calm phase, only the last message is posted.
    guard left > 0, now < Instant.zero.advanced(by: kernel.plan.length) else { return }
    if !fillsLogUp { post(text: "other \(backend.othersCount + 1)") }
    let wait = kernel.hosts[server.slot].generator.duration(below: .milliseconds(200))
    kernel.later(.othersPost(left: left - 1), after: .milliseconds(30) + wait)
  }

  /// Posts a message of another user, if the server is running.
  mutating func post(text: String, parent: MessageID? = nil) {
    let content = MessageContent(text, parent: parent)
    backend.othersCount += 1
    let user = "other-\(backend.othersCount % 5)"
    if isElsewhere() {
      let message = ShopMessage(
        id: .random(using: &kernel.hosts[server.slot].generator), shop: shop, user: user,
        username: user, content: content, createdAt: serverWall)
      return storeElsewhere(.post(LogEntry(message: message, key: nil)))
    }
    guard isServerRunning else { return }
    backend.posting += 1
    backend.lastRequest += 1
    let claims = Claims(
      user: user, name: user, shops: [shop], expiresAt: serverWall.advanced(by: .seconds(60)))
    feed(
      .request(
        RequestID(backend.lastRequest), .send(Draft(shop: shop, content: content)),
        .valid(claims), wall: serverWall))
  }

  /// Posts a message of another user. The message is too large for the phone's sockets.
  mutating func postLarge() {
    guard isServerRunning, !fillsLogUp else { return }
    backend.isNextOversized = true
    post(text: "large \(backend.othersCount + 1)")
  }

  mutating func sendMalformed(_ count: Int) {
    let texts = ["{\"type\":", "no message", "{\"id\":5,\"shop_id\":\"x\"}", "[]"]
    for number in 0..<max(0, count) {
      for line in kernel.lines where line.serverHolds {
        send(.packet(.text(Array(texts[number % 4].utf8))), bytes: 30, over: line.number)
      }
    }
  }

  /// Fills the log with messages that precede the run.
  mutating func prepare() {
    let history = kernel.plan.numbers.history
    var time = Kernel<StreamFeature>.wallBase.advanced(by: .seconds(-60 * (history + 2)))
    for number in 0..<history {
      let wait = kernel.hosts[server.slot].generator.duration(below: .seconds(30))
      time = time.advanced(by: .seconds(30) + wait)
      let stamp = Timestamp(nanoseconds: time.nanoseconds - time.nanoseconds % 1_000)
      let message = ShopMessage(
        id: .random(using: &kernel.hosts[server.slot].generator), shop: shop,
        user: "other-\(number % 5)", username: "other-\(number % 5)", text: "old \(number)",
        createdAt: stamp)
      kernel.counts[.accepted] += 1
      note(.accepted(backend.log.append(message), isNew: true))
    }
  }
}
