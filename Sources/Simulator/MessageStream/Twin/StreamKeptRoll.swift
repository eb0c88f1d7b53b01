import LinkCore
import LinkWire

/// The log of a shop, told a second time: a list, and the posts that made it.
struct StreamKeptRoll {
  private(set) var epoch: String
  private(set) var messages: [Message] = []
  /// The keys, each with its user and the offset that was stored by it.
  private var posts: [Post] = []

  /// A key that a user stored a message by.
  private struct Post {
    var user: String
    var key: UUID128
    var offset: Int
  }

  init(_ epoch: String) { self.epoch = epoch }

  var head: Position { Position(epoch: epoch, offset: UInt64(messages.count)) }

  mutating func append(_ entry: LogEntry) -> Result<Appended, StoreFailure> {
    var message = entry.message
    for post in posts where post.user == message.user && post.key == entry.key {
      return .success(Appended(message: messages[post.offset - 1], isNew: false))
    }
    if messages.contains(where: { $0.id == message.id }) {
      return .failure(.other(detail: "The log holds a message \(message.id) already."))
    }
    let offset = messages.count + 1
    message.position = Position(epoch: epoch, offset: UInt64(offset))
    messages.append(message)
    if let key = entry.key { posts.append(Post(user: message.user, key: key, offset: offset)) }
    return .success(Appended(message: message, isNew: true))
  }

  mutating func begin(_ next: String, keeping count: Int) {
    epoch = next
    while messages.count > max(0, count) {
      messages.removeFirst()
      posts = posts.filter { $0.offset > 1 }
      for place in posts.indices { posts[place].offset -= 1 }
    }
    for place in messages.indices {
      messages[place].position = Position(epoch: next, offset: UInt64(place) + 1)
    }
  }

  /// Everything that a query ranges over, in its order; `nil` for a position of another log.
  private func range(_ query: PageQuery, byTime: Bool) -> [Message]? {
    let sorted = messages.sorted {
      $0.createdAt == $1.createdAt ? $0.id < $1.id : $0.createdAt < $1.createdAt
    }
    switch query {
    case .page: return (byTime ? sorted : messages).reversed()
    case .since(let time, _, _): return sorted.filter { $0.createdAt > time }
    case .after(let place, _):
      return isOurs(place) ? messages.filter { offset($0) > place.offset } : nil
    case .before(let place, _):
      return isOurs(place) ? messages.filter { offset($0) < place.offset }.reversed() : nil
    }
  }

  private func offset(_ message: Message) -> UInt64 { message.position?.offset ?? 0 }

  private func isOurs(_ place: Position) -> Bool {
    place.epoch == epoch && place.offset <= UInt64(messages.count)
  }

  func count(_ query: PageQuery) -> UInt64 {
    UInt64(range(query, byTime: false)?.count ?? messages.count)
  }

  func page(_ query: PageQuery, byTime: Bool) -> Page {
    let (number, limit) =
      switch query {
      case .page(let number, let limit), .since(_, let number, let limit): (number, limit)
      case .after(_, let limit), .before(_, let limit): (1, limit)
      }
    guard let all = range(query, byTime: byTime) else { return newest(limit) }
    var skip = all.count
    // What is longer than any list need not be counted.
    let (before, size) = (number > 1 ? number - 1 : 0, max(0, limit))
    if Double(before) * Double(size) < 1e9 { skip = before * size }
    var page = Page(messages: [], hasNext: false, head: head)
    for message in all.dropFirst(skip) {
      if page.messages.count < limit { page.messages.append(message) } else { page.hasNext = true }
    }
    return page
  }

  func newest(_ limit: Int) -> Page {
    let first = messages.count - max(0, limit)
    return Page(
      messages: messages.filter { offset($0) > UInt64(max(0, first)) }, hasNext: false, head: head,
      recovered: false)
  }

  // What a log never does by itself.

  /// Loses the newest messages within its epoch, as a log that was put back.
  mutating func cut(_ count: Int) {
    messages.removeLast(min(count, messages.count))
    posts = posts.filter { $0.offset <= messages.count }
  }

  /// Gives a message other words.
  mutating func edit(_ place: Int, _ text: String, _ time: Timestamp) {
    messages[place].text = text
    messages[place].updatedAt = time
    messages[place].isEdited = true
  }
}
