import LinkCore
import LinkServerCore
import LinkWire

// Rooms, and what the store says of them.
extension ShopHouse {
  func place(of shop: ShopID) -> Int? { rooms.firstIndex { $0.shop == shop } }

  /// Makes the room of a shop if there is none; idle ones make room.
  mutating func enter(_ shop: ShopID) {
    guard place(of: shop) == nil else { return }
    if rooms.count >= numbers.rooms {
      let used = Set(sockets.filter { $0.isOpen || $0.waits }.map(\.shop))
      rooms.removeAll { $0.posts.isEmpty && $0.owed == 0 && !used.contains($0.shop) }
    }
    rooms.append(Room(shop: shop))
  }

  /// Does what can be done for a shop now.
  mutating func goOn(_ shop: ShopID) {
    guard let place = place(of: shop) else { return }
    let arrivals = sockets.compactMap { socket -> (id: ConnectionID, after: Position?)? in
      guard socket.shop == shop, case .wantsHead(let after) = socket.stage else { return nil }
      return (socket.id, after)
    }
    guard let head = rooms[place].head else {
      guard rooms[place].owed == 0, arrivals.count + rooms[place].posts.count > 0 else { return }
      rooms[place].owed = 1
      say(.head(question(.head(shop)), shop))
      return
    }
    for (id, after) in arrivals { letIn(id, shop, head, after: after) }
    if rooms[place].owed == 0 { handOver(place, head) }
  }

  /// Gives the store the first posts that wait, as many as share a commit.
  private mutating func handOver(_ place: Int, _ head: Position) {
    var (batch, sum): ([Deed.Entry], Int) = ([], 0)
    while var post = rooms[place].posts.first {
      var stamp = post.message.createdAt.nanoseconds / 1_000 * 1_000
      if let newest = rooms[place].newest { stamp = max(stamp, newest.nanoseconds + 1_000) }
      post.message.createdAt = Timestamp(nanoseconds: stamp)
      var framed = post.message
      framed.position = Position(
        epoch: head.epoch, offset: head.offset + 1 + UInt64(batch.count))
      let bytes = frameBytes(framed)
      if bytes > numbers.frameBytes {
        rooms[place].posts.removeFirst()
        let words = "the frame would be \(bytes) bytes of at most \(numbers.frameBytes)"
        answer(post.request, .error(413, words))
        continue
      }
      sum += bytes
      if sum > numbers.commitBytes, !batch.isEmpty { break }
      rooms[place].posts.removeFirst()
      rooms[place].newest = post.message.createdAt
      let token = question(.post(rooms[place].shop, post.request))
      batch.append(Deed.Entry(token: token, message: post.message, key: post.key))
    }
    rooms[place].owed = batch.count
    if batch.count > 0 { out.append(.append(batch)) }
  }

  /// The bytes of a message as a frame.
  func frameBytes(_ message: Message) -> Int {
    StreamScribe.tree(onStream(message)).json.utf8.count
  }

  /// A message as a socket is sent it.
  private func onStream(_ message: Message) -> Message {
    var message = message
    if numbers.isPlain { message.position = nil }
    return message
  }

  /// A message as an answer has it.
  private func inAnswer(_ message: Message) -> Message {
    var message = onStream(message)
    if numbers.isPlain { message.username = nil }
    return message
  }

  // What the store says.

  mutating func stored(_ question: Question, _ said: ShopServer.StoreAnswer) {
    switch question {
    case .head(let shop):
      guard case .head(let head, let newest) = said else { return lost(question) }
      if let place = place(of: shop) {
        (rooms[place].head, rooms[place].newest, rooms[place].owed) = (head, newest, 0)
      }
      goOn(shop)
    case .post(let shop, let id):
      if case .failed(let why) = said { failure = why }
      guard case .appended(let message, let isNew) = said, let position = message.position,
        let place = place(of: shop), let head = rooms[place].head
      else { return lost(question) }
      appended(message, isNew, shop, id, at: position, behind: head, place)
    case .history(let id):
      guard case .page(let page, _) = said else { return lost(question) }
      var all: [Message] = []
      for message in page.messages { all.insert(inAnswer(message), at: 0) }
      answer(id, Answer(200, .messages(all)))
    case .page(let id, let query):
      guard case .page(let page, let total) = said else { return lost(question) }
      answer(id, Answer(200, .page(shown(page), query, total: total)))
    case .newest(let id, let time, let query):
      guard case .page(let page, _) = said else { return lost(question) }
      let (newer, total) = Self.cut(page, time, query)
      answer(id, Answer(200, .page(shown(newer), query, total: total)))
    case .missed(let id, let shop, let after):
      guard case .page(let page, _) = said else { return lost(question) }
      settle(id, shop, after: after, page)
    }
  }

  private func shown(_ page: Page) -> Page {
    var page = page
    page.messages = page.messages.map { inAnswer($0) }
    if numbers.isPlain { page.head = nil }
    return page
  }

  /// A page of the newest messages up to a time, and how many are known to lie on it and before it.
  private static func cut(_ page: Page, _ time: Timestamp, _ query: PageQuery) -> (Page, UInt64) {
    var newer = page
    newer.messages = []
    for message in page.messages where time < message.createdAt { newer.messages.append(message) }
    if newer.messages.count < page.messages.count { newer.hasNext = false }
    var seen = UInt64(newer.messages.count)
    if newer.hasNext { seen += 1 }
    if case .since(_, let number, let limit) = query { seen += UInt64((number - 1) * limit) }
    return (newer, seen)
  }

  /// The store did not say what it was asked.
  private mutating func lost(_ question: Question) {
    count("failures")
    let refused = Answer.error(503, "the store failed", retryAfter: numbers.busyRetry)
    switch question {
    case .head(let shop):
      guard let place = place(of: shop) else { return }
      let room = rooms.remove(at: place)
      for socket in sockets where socket.shop == shop && socket.waits {
        forget(socket.id)
        refuse(socket.id, refused)
      }
      for post in room.posts { answer(post.request, refused) }
    case .post(let shop, let id):
      answer(id, refused)
      if let place = place(of: shop) { rooms[place].owed -= 1 }
      goOn(shop)
    case .history(let id), .page(let id, _), .newest(let id, _, _): answer(id, refused)
    case .missed(let id, let shop, let after): settle(id, shop, after: after, nil)
    }
  }

  private mutating func appended(
    _ message: Message, _ isNew: Bool, _ shop: ShopID, _ id: RequestID, at position: Position,
    behind head: Position, _ place: Int
  ) {
    count(isNew ? "accepted" : "repeated")
    if isNew { failure = nil }
    answer(id, said(of: message, isNew, to: id))
    rooms[place].owed -= 1
    if head.epoch != position.epoch || head.offset + 2 <= position.offset {
      rooms[place].head = position
      for id in listeners(of: shop) { close(id, 1011, "log discontinuity") }
    } else if head.offset < position.offset {
      rooms[place].head = position
      tell(message, shop, place)
    }
    goOn(shop)
  }

  private func said(of message: Message, _ isNew: Bool, to id: RequestID) -> Answer {
    if isNew {
      return Answer(201, .message(inAnswer(message), note: "Message created successfully"))
    }
    let draft = requests.first { $0.id == id }?.draft
    if let draft, draft.text != message.text || draft.parent != message.parent {
      return .error(
        409, "the idempotency key was used for another message; use a new key for each message")
    }
    return Answer(200, .message(inAnswer(message), note: "Message already created"))
  }

  /// Sends a message to all sockets of a room.
  private mutating func tell(_ message: Message, _ shop: ShopID, _ place: Int) {
    if sockets.contains(where: { $0.shop == shop && $0.stage == .wantsPage }) {
      rooms[place].recent = (rooms[place].recent + [message]).suffix(numbers.arrears)
    }
    let listeners = listeners(of: shop)
    guard listeners.count > 0 else { return }
    count("broadcasts")
    count("frames", listeners.count)
    say(.send(.message(onStream(message)), to: listeners))
  }
}
