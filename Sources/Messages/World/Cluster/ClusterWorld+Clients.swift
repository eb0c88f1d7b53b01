import HoldfastCore
import HoldfastIdentity
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerData
import HoldfastServerParts
import HoldfastWorldKernel

/// The clients of a cluster: authors, readers and listeners.
struct ClusterClients {
  struct Post {
    enum State { case open, acknowledged, refused, unknown }

    var draft: Draft
    var user: String
    var state = State.open
    var asked = Instant.zero
    var position: ShopPosition?
  }

  struct Listener {
    var shop: ShopID
    var id: ConnectionID?
    var node = 0
    var isOpen = false
    var last: ShopPosition?
    /// The texts that were received in the epoch of `last`.
    var received: [UInt64: String] = [:]
    /// Whether events that were received may have been lost.
    var isDoubtful = false
  }

  struct Read {
    var shop: ShopID
    /// The newest acknowledged offset at the time of the request.
    var known: UInt64
  }

  var posts: [Post] = []
  var requests: [RequestID: Int] = [:]
  var reads: [RequestID: Read] = [:]
  var acknowledged: [ShopID: UInt64] = [:]
  var listeners = (0..<6).map { Listener(shop: ClusterWorld.shops[$0 % 2]) }
  /// The time in which an event must be everywhere; `nil` while there are faults.
  var promptness: Duration?

  /// Handles a loss of commits.
  mutating func doubt() {
    acknowledged = [:]
    reads = [:]
    for index in listeners.indices where listeners[index].last != nil {
      listeners[index].isDoubtful = true
    }
  }
}

/// An act of a client.
enum ClusterClientEvent: Sendable {
  case post
  case repeated(Int)
  case expired(RequestID)
  case read
  case connect(Int)
  case late(Int, ConnectionID)
}

extension ClusterWorld {
  private static let far = Timestamp(nanoseconds: 1_000_000_000_000_000)

  private func credential(_ user: String) -> Credential {
    .valid(Claims(user: user, name: user, shops: Self.shops, expiresAt: Self.far))
  }

  private func wall(_ n: Int) -> Timestamp {
    Timestamp(nanoseconds: now.nanoseconds).advanced(by: nodes[n].clock)
  }

  private mutating func anyNode() -> Int {
    let up = nodes.indices.filter { nodes[$0].isUp }
    return up.randomElement(using: &generator) ?? 0
  }

  mutating func toNode(_ n: Int, _ input: ShopServer.Input, within delay: Duration) {
    plan(.node(n, nodes[n].run, .input(input)), within: delay)
  }

  mutating func handle(_ event: ClusterClientEvent) {
    switch event {
    case .post: post()
    case .repeated(let index): send(index)
    case .expired(let id):
      guard let index = clients.requests.removeValue(forKey: id) else { return }
      again(index, orState: .unknown)
    case .read: read()
    case .connect(let index): connect(index)
    case .late(let index, let id):
      guard clients.listeners[index].id == id, !clients.listeners[index].isOpen else { return }
      leave(index)
    }
  }

  // MARK: - Authors and readers

  private mutating func post() {
    let number = fresh()
    let shop = Self.shops[Int(number % 2)]
    let key = oneIn(3) ? nil : UUID128(high: 1, low: number)
    clients.posts.append(
      ClusterClients.Post(
        draft: Draft(shop: shop, content: MessageContent("text \(number)"), key: key),
        user: "user\(number % 40)"))
    send(clients.posts.count - 1)
    if !isCalm { plan(.client(.post), within: .milliseconds(600)) }
  }

  private mutating func send(_ index: Int) {
    let id = RequestID(fresh())
    clients.requests[id] = index
    clients.posts[index].asked = now
    let n = anyNode()
    let post = clients.posts[index]
    toNode(
      n, .request(id, .send(post.draft), credential(post.user), wall: wall(n)),
      within: .milliseconds(20))
    plan(.client(.expired(id)), after: .seconds(12))
  }

  /// Repeats a post by its key.
  private mutating func again(_ index: Int, orState state: ClusterClients.Post.State) {
    guard clients.posts[index].draft.key != nil else {
      clients.posts[index].state = state
      return
    }
    plan(.client(.repeated(index)), within: .seconds(3))
  }

  private mutating func read() {
    let (id, n) = (RequestID(fresh()), anyNode())
    let shop = Self.shops[Int(id.number % 2)]
    clients.reads[id] = ClusterClients.Read(shop: shop, known: clients.acknowledged[shop] ?? 0)
    let call = Call.page(shop, .page(number: 1, limit: 3), events: false)
    toNode(n, .request(id, call, credential("reader"), wall: wall(n)), within: .milliseconds(20))
    plan(.client(.read), within: .seconds(2))
  }

  private mutating func answered(_ id: RequestID, _ answer: Answer, _ n: Int) {
    if let read = clients.reads.removeValue(forKey: id) { return took(answer, of: read, n) }
    guard let index = clients.requests.removeValue(forKey: id) else { return }
    guard case .message(let message, _) = answer.body,
      let position = message.position
    else {
      // A post that was sent to the database is asked for before it is refused.
      let isEarly = clients.posts[index].asked.duration(to: now) < .seconds(30)
      return again(index, orState: isEarly ? .refused : .unknown)
    }
    (clients.posts[index].state, clients.posts[index].position) = (.acknowledged, position)
    counts.acknowledged += 1
    let text = clients.posts[index].draft.content.text
    if !lostTexts.contains(text) {
      clients.acknowledged[message.shop] = max(
        clients.acknowledged[message.shop] ?? 0, position.offset)
    }
    if let limit = clients.promptness {
      plan(.verify(position, message.shop, within: limit), after: limit)
    }
  }

  private mutating func took(_ answer: Answer, of read: ClusterClients.Read, _ n: Int) {
    guard answer.status == 200, case .page(let page, _, _) = answer.body, let head = page.head
    else { return }
    counts.reads += 1
    if head.offset < read.known { report(.staleRead) }
  }

  // MARK: - Listeners

  private mutating func connect(_ index: Int) {
    let (id, n) = (ConnectionID(fresh()), anyNode())
    clients.listeners[index].id = id
    clients.listeners[index].node = n
    let listener = clients.listeners[index]
    toNode(
      n,
      .upgrade(
        id, listener.shop, after: listener.last, events: true, credential("listener\(index)"),
        wall: wall(n)), within: .milliseconds(20))
    plan(.client(.late(index, id)), after: .seconds(8))
  }

  /// Ends the connection of a listener, which connects again.
  private mutating func leave(_ index: Int, code: UInt16 = 1006) {
    let listener = clients.listeners[index]
    guard let id = listener.id else { return }
    (clients.listeners[index].id, clients.listeners[index].isOpen) = (nil, false)
    toNode(listener.node, .gone(id, code: code), within: .milliseconds(20))
    plan(.client(.connect(index)), within: .seconds(2))
  }

  mutating func dropSocket() {
    leave(Int.random(in: 0..<clients.listeners.count, using: &generator))
  }

  mutating func lostNode(_ n: Int) {
    for index in clients.listeners.indices where clients.listeners[index].node == n { leave(index) }
  }

  private func listener(_ id: ConnectionID) -> Int? {
    clients.listeners.firstIndex { $0.id == id }
  }

  private mutating func accepted(
    _ id: ConnectionID, head: ShopPosition?, after: ShopPosition?, _ n: Int
  ) {
    if nodes[n].resumed.duration(to: now) > .milliseconds(500) {
      // The end of a lease is noticed within half a second.
      let end = nodes[n].renewed?.advanced(by: NodeLease.trust + .milliseconds(500)) ?? .zero
      if end < now { report(.acceptedWithoutLease) }
    }
    guard let index = listener(id), let head else { return }
    clients.listeners[index].isOpen = true
    let start = after ?? head
    if clients.listeners[index].last?.epoch != start.epoch {
      clients.listeners[index].isDoubtful = false
      clients.listeners[index].received = [:]
    }
    clients.listeners[index].last = start
  }

  private mutating func received(_ frame: Frame, _ id: ConnectionID) {
    guard let index = listener(id), case .message(let message) = frame,
      let position = message.position, let last = clients.listeners[index].last
    else { return }
    counts.delivered += 1
    let isNext = position.epoch == last.epoch && position.offset == last.offset + 1
    if !isNext, !clients.listeners[index].isDoubtful {
      report(.hole)
    }
    clients.listeners[index].last = position
    if !clients.listeners[index].isDoubtful {
      clients.listeners[index].received[position.offset] = message.text
    }
  }

  // MARK: - Effects

  mutating func feed(_ input: ShopServer.Input, _ n: Int) {
    for effect in nodes[n].rules.handle(input, at: now) { carryOut(effect, n) }
    planWake(n)
  }

  mutating func wake(_ n: Int) {
    nodes[n].wake = nil
    if let deadline = nodes[n].rules.deadline, deadline <= now {
      for effect in nodes[n].rules.tick(at: now) { carryOut(effect, n) }
    }
    planWake(n)
  }

  private mutating func planWake(_ n: Int) {
    guard let deadline = nodes[n].rules.deadline else { return }
    if let planned = nodes[n].wake, planned <= deadline { return }
    nodes[n].wake = deadline
    plan(.node(n, nodes[n].run, .wake), after: max(.zero, now.duration(to: deadline)))
  }

  private mutating func carryOut(_ effect: ShopServer.Effect, _ n: Int) {
    switch effect {
    case .append(let appends): append(appends, n)
    case .page(let token, let shop, let query): ask(token, .page(shop, query), n)
    case .tail(let token, let shop, let query): ask(token, .tail(shop, query), n)
    case .head(let token, let shop): ask(token, .head(shop), n)
    case .heads(let token, let shops): ask(token, .heads(shops), n)
    case .tell(let shop, let position):
      if defect != .hintBeforeCommit { tell(position, of: shop, by: n) }
    case .forget(let token, _): toNode(n, .stored(token, .forgotten), within: .milliseconds(1))
    case .answer(let id, let answer): answered(id, answer, n)
    case .accept(let id, let head, let after, _): accepted(id, head: head, after: after, n)
    case .send(let frame, let all): for id in all { received(frame, id) }
    case .ping(let id): toNode(n, .received(id), within: .milliseconds(20))
    case .refuse(let id, _), .drop(let id): if let index = listener(id) { leave(index) }
    case .close(let id, let closure):
      if let index = listener(id) {
        leave(index, code: closure.code)
      } else {
        toNode(n, .gone(id, code: closure.code), within: .milliseconds(20))
      }
    case .shop, .finished: return
    }
  }

  private mutating func ask(_ token: StoreToken, _ read: ClusterRead, _ n: Int) {
    submit(.read(token, read), .pages, n)
  }

  private mutating func append(_ appends: [ShopServer.Append], _ n: Int) {
    let posts = appends.compactMap { append in
      if case .post(let entry) = append.change { (append.token, entry) } else { nil }
    }
    if defect == .hintBeforeCommit, let shop = posts.first?.1.message.shop {
      var head = database.rows.log(shop).head
      head.offset += UInt64(posts.count)
      tell(head, of: shop, by: n)
    }
    submit(.posts(posts), .log, n)
  }

  /// Sends a report, which may be lost, repeated and late.
  private mutating func tell(_ position: ShopPosition, of shop: ShopID, by sender: Int) {
    guard nodes[sender].isReachedByBus else { return }
    for n in nodes.indices where n != sender && nodes[n].isReachedByBus {
      guard isCalm || !oneIn(5) else { continue }
      let delay = !isCalm && oneIn(4) ? Duration.seconds(3) : .milliseconds(10)
      toNode(n, .nodes(.told(shop, position)), within: delay)
      if oneIn(5) { toNode(n, .nodes(.told(shop, position)), within: delay) }
    }
  }

  // MARK: - The clients' promises

  /// Checks that an event has reached all listeners.
  mutating func verify(_ position: ShopPosition, _ shop: ShopID, within limit: Duration) {
    for listener in clients.listeners where listener.shop == shop && listener.isOpen {
      if let last = listener.last, last.epoch == position.epoch, last.offset < position.offset {
        report(.late)
      }
    }
  }

  /// Checks that all listeners have the present end of the log, and what the log has.
  mutating func checkListeners() {
    for listener in clients.listeners {
      guard listener.isOpen, let last = listener.last else {
        report(.noListener)
        continue
      }
      // A loss that nobody remembers is not noticed.
      guard !listener.isDoubtful else { continue }
      let log = database.rows.log(listener.shop)
      if last != log.head { report(.behind) }
      for message in log.messages {
        let text = message.position.flatMap { listener.received[$0.offset] }
        if let text, text != message.text {
          report(.otherEvent)
        }
      }
    }
  }

  mutating func checkLog() {
    var count: [String: Int] = [:]
    for shop in Self.shops {
      let messages = database.rows.log(shop).messages
      if zip(messages, messages.dropFirst()).contains(where: { $0.createdAt >= $1.createdAt }) {
        report(.stamps)
      }
      for message in messages { count[message.text, default: 0] += 1 }
    }
    for post in clients.posts {
      let found = count[post.draft.content.text] ?? 0
      if found > 1 { report(.storedTwice) }
      if post.state == .refused, found > 0 { report(.refusedStored) }
      if post.state == .acknowledged, found == 0, !lostTexts.contains(post.draft.content.text) {
        report(.lost)
      }
      if post.state == .open { report(.noOutcome) }
    }
  }
}
