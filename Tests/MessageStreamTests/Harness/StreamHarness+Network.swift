import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

/// The network between the phone and the server.
struct Net {
  var reachability = Reachability.reachable(path: PathID("wlan0"))
  /// Whether all traffic is lost although the device reports that it has a usable network.
  var isBlackHole = false
  /// The sockets that are half-open or have lost data.
  var dead: Set<Socket> = []
  /// The latency in each direction.
  var delay = Duration.milliseconds(40)
  /// The additional time that a response to a request takes.
  var lag = Duration.zero

  var isReachable: Bool {
    if case .reachable = reachability { true } else { false }
  }

  /// Returns whether traffic on the socket currently arrives. A socket that loses any traffic
  /// counts as dead from then on.
  mutating func isUp(_ socket: Socket) -> Bool {
    if isBlackHole { dead.insert(socket) }
    return !dead.contains(socket)
  }
}

/// The server's sockets, tokens and membership.
struct Server {
  var sockets: [Socket] = []
  /// The oldest valid token. Older tokens are answered with 401.
  var oldestToken = 1
  var newestToken = 1
  var isMember = true
  var sendsPings = true
}

extension StreamHarness {
  /// The reason why a connection fails immediately; nil if it does not.
  private var refusal: LinkFailure? {
    if !net.isReachable { return .unreachable(detail: "no route") }
    if shop.isDown { return .refused }
    return nil
  }

  private mutating func add(_ event: Event, after wait: Duration) {
    queue.add(event, at: now.advanced(by: wait))
  }

  // MARK: Requests

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
      add(.input(process: phone.process, failed(refusal)), after: .milliseconds(5))
    } else if !net.isBlackHole {
      add(event, after: net.delay)
    }
  }

  private mutating func answer(_ process: Int, _ input: StreamModel.Input) {
    if !net.isBlackHole { add(.input(process: process, input), after: net.delay + net.lag) }
  }

  mutating func answerFetch(_ process: Int, _ id: FetchID, _ query: PageQuery, _ token: Int) {
    if let failure = restFailure(token) {
      answer(process, .fetchFailed(id, failure))
    } else {
      answer(process, .fetched(id, shop.page(query)))
    }
  }

  mutating func answerPost(
    _ process: Int, _ entry: OutboxEntry, _ number: TryID, _ token: Int
  ) {
    if let failure = restFailure(token) {
      answer(process, .postFailed(entry.id, try: number, failure))
      return
    }
    if let target = entry.target {
      switch change(target, entry) {
      case .success(let input): answer(process, input)
      case .failure(let failure):
        answer(process, .postFailed(entry.id, try: number, failure))
      }
      return
    }
    let (message, isNew) = shop.accept(entry.text, from: "me", at: wall, key: entry.id)
    if isNew {
      accepted[entry.text, default: 0] += 1
      broadcast(message)
    }
    answer(process, .posted(entry.id, message))
  }

  private func restFailure(_ token: Int) -> LinkFailure? {
    if shop.isDown { return .refused }
    if token < server.oldestToken { return .http(status: 401, retryAfter: nil, detail: "") }
    if !server.isMember { return .http(status: 403, retryAfter: nil, detail: "not a member") }
    return shop.restStatus
  }

  // MARK: Sockets

  mutating func dial(_ socket: Socket, after: ShopPosition?) {
    log.opens.append(now)
    if let refusal {
      add(.socket(socket, .link(.lost(socket.attempt, refusal), at: wall)), after: .milliseconds(5))
    } else if !net.isBlackHole {
      add(.upgrade(socket, after: after, token: phone.token), after: net.delay)
    }
  }

  mutating func answerUpgrade(_ socket: Socket, _ after: ShopPosition?, _ token: Int) {
    if net.isBlackHole { return }
    if let failure = restFailure(token) ?? shop.upgradeStatus {
      add(.socket(socket, .link(.lost(socket.attempt, failure), at: wall)), after: net.delay)
      return
    }
    server.sockets.append(socket)
    let missed = after.flatMap { position in
      hasEvents
        ? shop.missedEvents(after: position)
        : shop.missed(after: position)?.map { .message($0) }
    }
    let start = missed == nil ? nil : after
    let opened = StreamModel.Input.opened(
      socket.attempt, head: shop.head, after: start, events: hasEvents ? true : nil)
    add(.socket(socket, opened), after: net.delay)
    for frame in missed ?? [] { deliver(.frame(socket.attempt, frame), over: socket) }
    add(.pings(socket), after: .seconds(54))
  }

  mutating func hangUp(_ socket: Socket, _ code: UInt16) {
    log.closes.append(code)
    phone.sockets.remove(socket)
    // Data in transit may still arrive late.
    if !net.isReachable { net.dead.insert(socket) }
    server.sockets.removeAll { $0 == socket }
  }

  mutating func phonePings(_ socket: Socket, _ id: UInt64) {
    guard net.isUp(socket), server.sockets.contains(socket) else { return }
    add(.socket(socket, .link(.pong(socket.attempt, id), at: wall)), after: net.delay * 2)
  }

  mutating func serverPings(_ socket: Socket) {
    guard server.sockets.contains(socket) else { return }
    if server.sendsPings { deliver(.link(.ping(socket.attempt), at: wall), over: socket) }
    add(.pings(socket), after: .seconds(54))
  }

  /// Sends an input over every socket, in order.
  mutating func sendDown(_ make: (AttemptID) -> StreamModel.Input) {
    for socket in server.sockets { deliver(make(socket.attempt), over: socket) }
  }

  private mutating func deliver(_ input: StreamModel.Input, over socket: Socket) {
    if net.isUp(socket) { add(.socket(socket, input), after: net.delay) }
  }

  private mutating func broadcast(_ message: ShopMessage) {
    var frame = message
    frame.username = "Me or you"
    sendDown { .frame($0, .message(frame)) }
  }

  // MARK: Actions of other users and of the network

  /// Posts a message by another user. `late` moves its time stamp back. `isExact` omits the
  /// nanoseconds that make time stamps unique.
  @discardableResult
  mutating func say(
    _ text: String, late: Duration = .zero, silently: Bool = false, isExact: Bool = false
  ) -> ShopMessage {
    let time = wall.advanced(by: .zero - late)
    said += 1
    let (message, _) = shop.accept(
      text, from: "you", at: isExact ? time : time.advanced(by: .nanoseconds(said)))
    if !silently { broadcast(message) }
    return message
  }

  /// Posts `count` messages by another user, `apart` from each other; the last one has the current
  /// time. None is sent over a socket.
  mutating func accumulate(_ count: Int, named name: String = "m", apart: Duration = .seconds(1)) {
    for index in 0..<count {
      let age = apart * (count - 1 - index)
      say("\(name)\(index + 1)", late: age, silently: true)
    }
  }

  /// Loses every socket on both sides.
  mutating func cut(_ failure: LinkFailure = .reset) {
    sendDown { [wall] in .link(.lost($0, failure), at: wall) }
    server.sockets = []
  }

  /// Makes every socket half-open: the phone still has the socket but receives nothing.
  mutating func halfOpen() { net.dead.formUnion(phone.sockets) }

  /// Changes the device's network. All data in transit over the old network is lost.
  mutating func change(to reachability: Reachability) {
    net.reachability = reachability
    net.dead.formUnion(phone.sockets)
    queue.removeAll(where: \.isOnTheWay)
    give(.reachability(reachability))
  }
}
