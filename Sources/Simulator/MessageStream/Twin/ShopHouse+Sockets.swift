import LinkCore
import LinkServerCore
import LinkWire

extension ShopHouse.Socket {
  var isOpen: Bool {
    switch stage {
    case .open: true
    case .wantsHead, .wantsPage, .closes: false
    }
  }

  /// Whether its upgrade has no answer yet.
  var waits: Bool {
    switch stage {
    case .wantsHead, .wantsPage: true
    case .open, .closes: false
    }
  }
}

// Sockets, from the upgrade to the end.
extension ShopHouse {
  func place(of id: ConnectionID) -> Int? { sockets.firstIndex { $0.id == id } }

  func isOpen(_ id: ConnectionID) -> Bool { place(of: id).map { sockets[$0].isOpen } ?? false }

  func ids(where holds: (Socket) -> Bool) -> [ConnectionID] {
    sockets.filter(holds).map(\.id).sorted()
  }

  /// The open sockets of a shop.
  func listeners(of shop: ShopID) -> [ConnectionID] { ids { $0.shop == shop && $0.isOpen } }

  mutating func upgrade(
    _ id: ConnectionID, _ shop: ShopID, _ after: Position?, _ credential: Credential,
    _ wall: Timestamp
  ) {
    let claims: Claims
    switch judge(credential, for: shop, wall) {
    case .failure(let fault): return refuse(id, fault.answer)
    case .success(let found): claims = found
    }
    let own = sockets.count { $0.user == claims.user && ($0.waits || $0.isOpen) }
    if !numbers.offersStream { return refuse(id, .error(503, "the stream is switched off")) }
    if sockets.count >= numbers.sockets {
      return refuse(id, .error(503, "too busy", retryAfter: numbers.busyRetry))
    }
    if own >= numbers.socketsOfUser {
      return refuse(id, .error(429, "too many sockets", retryAfter: numbers.socketRetry))
    }
    let life = Duration.nanoseconds(claims.expiresAt.nanoseconds - wall.nanoseconds)
    sockets.append(
      Socket(
        id: id, shop: shop, user: claims.user, endsAt: now.advanced(by: life),
        stage: .wantsHead(after: after)))
    enter(shop)
    goOn(shop)
  }

  mutating func refuse(_ id: ConnectionID, _ answer: Answer) {
    count("refused \(answer.status)")
    say(.refuse(id, answer))
  }

  /// Lets a socket in; what lies behind `after` is sent next.
  mutating func open(_ id: ConnectionID, _ head: Position, after: Position? = nil) {
    guard let place = place(of: id) else { return }
    sockets[place].stage = .open(heardAt: now, pingAt: now.advanced(by: numbers.ping))
    setBell(place)
    count("upgrades")
    say(
      numbers.isPlain ? .accept(id, head: nil) : .accept(id, head: head, after: after))
  }

  private mutating func setBell(_ place: Int) {
    switch sockets[place].stage {
    case .wantsHead, .wantsPage: sockets[place].bell = nil
    case .closes(let until): sockets[place].bell = until
    case .open(let heardAt, let pingAt):
      let due = [sockets[place].endsAt, pingAt, heardAt.advanced(by: numbers.silence)]
      sockets[place].bell = due.min()
    }
  }

  /// Looks at the sockets whose time has come, the earliest first.
  mutating func ring() {
    while true {
      var next: (bell: Instant, id: ConnectionID)?
      for socket in sockets {
        guard let bell = socket.bell, bell <= now else { continue }
        if let other = next, (other.bell, other.id) < (bell, socket.id) { continue }
        next = (bell, socket.id)
      }
      guard let next, let place = place(of: next.id) else { return }
      sockets[place].bell = nil
      look(place)
    }
  }

  private mutating func look(_ place: Int) {
    let socket = sockets[place]
    switch socket.stage {
    case .wantsHead, .wantsPage: return
    case .closes: drop(socket.id)
    case .open where socket.endsAt <= now: close(socket.id, 4401, "token expired")
    case .open(let heardAt, _) where heardAt.advanced(by: numbers.silence) <= now:
      count("silent")
      countEnd(1006)
      drop(socket.id)
    case .open(let heardAt, let pingAt):
      if pingAt <= now {
        count("pings")
        say(.ping(socket.id))
        sockets[place].stage = .open(heardAt: heardAt, pingAt: now.advanced(by: numbers.ping))
      }
      setBell(place)
    }
  }

  mutating func close(_ id: ConnectionID, _ code: UInt16, _ reason: String) {
    guard let place = place(of: id), sockets[place].isOpen else { return }
    sockets[place].stage = .closes(until: now.advanced(by: numbers.closing))
    setBell(place)
    countEnd(code)
    say(.close(id, Closure(code, reason)))
  }

  mutating func drop(_ id: ConnectionID) {
    forget(id)
    say(.drop(id))
  }

  mutating func forget(_ id: ConnectionID) {
    guard let place = place(of: id) else { return }
    let shop = sockets.remove(at: place).shop
    clearRecent(shop)
  }

  /// Ends the sockets of users that are no members any more.
  mutating func cut(_ memberships: [Membership]) {
    let all = ids { socket in
      memberships.contains { $0.shop == socket.shop && $0.user == socket.user }
    }
    for id in all {
      if isOpen(id) {
        close(id, 4403, "removed from the shop")
      } else if let place = place(of: id), sockets[place].waits {
        forget(id)
        refuse(id, .error(403, "not a member of this shop"))
      }
    }
  }

  // What was missed.

  /// Lets a socket in whose room knows its head, or asks for what it missed.
  mutating func letIn(_ id: ConnectionID, _ shop: ShopID, _ head: Position, after: Position?) {
    let gap = after.flatMap { after -> UInt64? in
      guard after.epoch == head.epoch, head.offset > after.offset else { return nil }
      return head.offset - after.offset
    }
    guard let after, let gap, gap <= numbers.arrears, !numbers.isPlain,
      waits.count < numbers.requests, let place = place(of: id)
    else { return open(id, head) }
    sockets[place].stage = .wantsPage
    say(
      .page(
        question(.missed(id, shop, after: after)), shop,
        .after(after, limit: numbers.arrears)))
  }

  /// Lets a socket in that waited for what it missed, and sends that if it is all there.
  mutating func settle(_ id: ConnectionID, _ shop: ShopID, after: Position, _ page: Page?) {
    guard let place = place(of: id), sockets[place].stage == .wantsPage,
      let room = rooms.first(where: { $0.shop == shop }), let head = room.head
    else { return }
    var missed: [Message] = []
    for message in page?.messages ?? [] where (message.position?.offset ?? 0) <= head.offset {
      missed.append(message)
    }
    let last = missed.last.map { $0.position?.offset ?? 0 } ?? after.offset
    missed += room.recent.filter { ($0.position?.offset ?? 0) > last }
    sockets[place].stage = .wantsHead(after: nil)
    clearRecent(shop)
    let places = missed.map { $0.position }
    var due: [Position?] = []
    // More than this was never asked for.
    if after.offset <= head.offset, head.offset - after.offset <= 10_000 {
      due = (after.offset..<head.offset).map { Position(epoch: head.epoch, offset: $0 + 1) }
    }
    let bytes = missed.reduce(0) { $0 + frameBytes($1) }
    guard after.epoch == head.epoch, page?.recovered != false, places == due,
      bytes <= numbers.arrearsBytes
    else { return open(id, head) }
    open(id, head, after: after)
    count("frames", missed.count)
    for message in missed { say(.send(.message(message), to: [id])) }
  }

  /// Keeps nothing where no socket waits for what came before.
  private mutating func clearRecent(_ shop: ShopID) {
    if sockets.contains(where: { $0.shop == shop && $0.stage == .wantsPage }) { return }
    for place in rooms.indices where rooms[place].shop == shop { rooms[place].recent = [] }
  }
}
