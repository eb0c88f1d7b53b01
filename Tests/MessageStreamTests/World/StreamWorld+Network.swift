import LinkCore
import LinkWire

@testable import MessageStream

/// The way between phone and server, and what it does to what passes.
struct Net {
  var reachability = Reachability.reachable(path: PathID("wlan0"))
  /// Nothing passes although the device believes that it has a way out.
  var isBlackHole = false
  /// Sockets that stand on one side only.
  var dead: Set<Socket> = []
  var fastest = Duration.milliseconds(20)
  var spread = Duration.milliseconds(40)
  /// Shares of requests or answers that are lost, come twice, or take up to half a minute.
  var loss = 0.0
  var twice = 0.0
  var slow = 0.0
  /// Share of frames that overtake others.
  var overtaking = 0.0
  /// Requests reach the server in the order of sending: they share one connection.
  var uplinkFree = Instant.zero
  /// When the last frame of the socket arrives.
  var downlinkFree = Instant.zero

  var isReachable: Bool {
    if case .reachable = reachability { true } else { false }
  }

  /// Whether something passes now; a socket that lost anything is as good as dead.
  mutating func isUp(_ socket: Socket) -> Bool {
    if isBlackHole { dead.insert(socket) }
    return !dead.contains(socket)
  }
}

/// The server's side of what is open.
struct Server {
  var sockets: [Socket] = []
  /// Older tokens are answered with 401.
  var oldestToken = 1
  var newestToken = 1
  var isMember = true
  /// Seconds between pings (contract: 54).
  var pingInterval = Duration.seconds(54)
  var sendsPings = true
}

extension StreamWorld {
  private mutating func happens(_ share: Double) -> Bool { share > 0 && chance.unit() < share }

  private mutating func delay() -> Duration {
    if happens(net.slow) { return .seconds(3) + chance.duration(below: .seconds(27)) }
    return net.fastest + chance.duration(below: net.spread)
  }

  /// Why a connection cannot be made at once, if so.
  private var refusal: LinkFailure? {
    if !net.isReachable { return .unreachable(detail: "no route") }
    if shop.isDown { return .refused }
    return nil
  }

  // Requests.

  mutating func ask(_ id: FetchID, _ query: PageQuery) {
    log.fetches.append((now, query))
    let event = Event.fetch(process: phone.process, id, query, token: phone.token)
    request(event) { .fetchFailed(id, $0) }
  }

  mutating func post(_ entry: OutboxEntry, _ number: TryID) {
    log.posts.append((now, entry))
    request(.post(process: phone.process, entry, number, token: phone.token)) {
      .postFailed(entry.id, try: number, $0)
    }
  }

  private mutating func request(
    _ event: Event, failed: (LinkFailure) -> StreamModel.Input
  ) {
    if let refusal {
      queue.add(
        .input(process: phone.process, failed(refusal)), at: now.advanced(by: .milliseconds(5)))
      return
    }
    if net.isBlackHole || happens(net.loss) { return }
    net.uplinkFree = max(net.uplinkFree, now.advanced(by: delay()))
    queue.add(event, at: net.uplinkFree)
  }

  private mutating func answer(_ process: Int, _ input: StreamModel.Input) {
    if net.isBlackHole || happens(net.loss) { return }
    queue.add(.input(process: process, input), at: now.advanced(by: delay()))
    if case .fetched = input, happens(net.twice) {
      queue.add(.input(process: process, input), at: now.advanced(by: delay()))
    }
  }

  mutating func answerFetch(_ process: Int, _ id: FetchID, _ query: PageQuery, _ token: Int) {
    if shop.isDown {
      answer(process, .fetchFailed(id, .refused))
    } else if let failure = restFailure(token) {
      answer(process, .fetchFailed(id, failure))
    } else if case .emptyCatchUp = sabotage, model.link.status.phase == .connected {
      answer(process, .fetched(id, Page(messages: [], hasNext: false)))
    } else {
      answer(process, .fetched(id, shop.page(query)))
    }
  }

  mutating func answerPost(
    _ process: Int, _ entry: OutboxEntry, _ number: TryID, _ token: Int
  ) {
    if shop.isDown {
      answer(process, .postFailed(entry.id, try: number, .refused))
    } else if let failure = restFailure(token) {
      answer(process, .postFailed(entry.id, try: number, failure))
    } else if entry.text.utf8.count > shop.longest {
      let tooLong = LinkFailure.http(status: 413, retryAfter: nil, detail: "too long")
      answer(process, .postFailed(entry.id, try: number, tooLong))
    } else {
      let (message, isNew) = shop.accept(entry.text, from: "me", at: wall, key: entry.id)
      if isNew {
        accepted[entry.text, default: 0] += 1
        broadcast(message)
      }
      answer(process, .posted(entry.id, message))
    }
  }

  private func restFailure(_ token: Int) -> LinkFailure? {
    if token < server.oldestToken { return .http(status: 401, retryAfter: nil, detail: "") }
    if !server.isMember { return .http(status: 403, retryAfter: nil, detail: "not a member") }
    return shop.restStatus
  }

  // Sockets.

  mutating func dial(_ socket: Socket, after: Position?) {
    log.opens.append(now)
    if let refusal {
      arriveLater(.lost(socket.attempt, refusal), over: socket, after: .milliseconds(5))
    } else if !net.isBlackHole, !happens(net.loss) {
      queue.add(.upgrade(socket, after: after, token: phone.token), at: now.advanced(by: delay()))
    }
  }

  mutating func answerUpgrade(_ socket: Socket, _ after: Position?, _ token: Int) {
    if net.isBlackHole { return }
    if let failure = shop.isDown ? .refused : restFailure(token) ?? shop.upgradeStatus {
      arriveLater(.lost(socket.attempt, failure), over: socket, after: delay())
      return
    }
    server.sockets.append(socket)
    net.downlinkFree = now.advanced(by: delay())
    let missed = after.flatMap { shop.owed(after: $0) }
    queue.add(
      .socket(
        socket,
        .opened(socket.attempt, head: shop.head, after: missed == nil ? nil : after)),
      at: net.downlinkFree)
    for message in missed ?? [] { deliver(.frame(socket.attempt, .message(message)), over: socket) }
    queue.add(.pings(socket), at: now.advanced(by: server.pingInterval))
  }

  private mutating func arriveLater(
    _ input: StreamModel.Input, over socket: Socket, after wait: Duration
  ) {
    queue.add(.socket(socket, input), at: now.advanced(by: wait))
  }

  mutating func hangUp(_ socket: Socket, _ code: UInt16) {
    log.closes.append(code)
    phone.sockets.remove(socket)
    // What was on the way may still be handed over late.
    if !net.isReachable { net.dead.insert(socket) }
    server.sockets.removeAll { $0 == socket }
  }

  mutating func phonePings(_ socket: Socket, _ id: UInt64) {
    guard net.isUp(socket), server.sockets.contains(socket) else { return }
    queue.add(
      .socket(socket, .pong(socket.attempt, id)), at: now.advanced(by: delay() + delay()))
  }

  mutating func serverPings(_ socket: Socket) {
    guard server.sockets.contains(socket) else { return }
    if server.sendsPings { deliver(.ping(socket.attempt), over: socket) }
    queue.add(.pings(socket), at: now.advanced(by: server.pingInterval))
  }

  /// Sends something down every socket, in order unless it overtakes.
  mutating func sendDown(_ make: (AttemptID) -> StreamModel.Input) {
    for socket in server.sockets { deliver(make(socket.attempt), over: socket) }
  }

  private mutating func deliver(_ input: StreamModel.Input, over socket: Socket) {
    guard net.isUp(socket) else { return }
    if happens(net.overtaking) {
      let late = net.downlinkFree.advanced(by: delay() * 4)
      queue.add(.socket(socket, input), at: max(late, now))
      return
    }
    net.downlinkFree = max(net.downlinkFree, now.advanced(by: delay()))
    queue.add(.socket(socket, input), at: net.downlinkFree)
  }

  private mutating func broadcast(_ message: Message) {
    var frame = message
    frame.username = "Me or you"
    sendDown { .frame($0, .message(frame)) }
  }

  // What others do.

  /// Somebody else writes; `late` stamps it before now, and `isExact` as late as others.
  @discardableResult
  mutating func say(
    _ text: String, late: Duration = .zero, silently: Bool = false, isExact: Bool = false
  ) -> Message {
    let time = wall.advanced(by: .zero - late)
    said += 1
    let (message, _) = shop.accept(
      text, from: "you", at: isExact ? time : time.advanced(by: .nanoseconds(said)))
    if !silently { broadcast(message) }
    return message
  }

  /// Many messages, a second apart, the last one now; nobody hears of them over a socket.
  mutating func accumulate(_ count: Int, named name: String = "m", apart: Duration = .seconds(1)) {
    for index in 0..<count {
      let age = apart * (count - 1 - index)
      say("\(name)\(index + 1)", late: age, silently: true)
    }
  }

  /// Every socket is lost, as both sides see it.
  mutating func cut(_ failure: LinkFailure = .reset) {
    sendDown { .lost($0, failure) }
    server.sockets = []
  }

  /// The socket looks open to the phone, and nothing comes any more.
  mutating func halfOpen() { for socket in phone.sockets { net.dead.insert(socket) } }

  /// The device's way out changes; what was on the old way is gone.
  mutating func change(to reachability: Reachability) {
    net.reachability = reachability
    for socket in phone.sockets { net.dead.insert(socket) }
    queue.removeAll(where: \.isOnTheWay)
    give(.reachability(reachability))
  }
}
