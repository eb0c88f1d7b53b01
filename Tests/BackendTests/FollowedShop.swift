import HoldfastCore
import HoldfastMessageData

/// A client that keeps a shop by events, as the contract page describes, and checks their order.
struct EventFollower {
  private(set) var messages: [MessageID: ShopMessage] = [:]
  private var deleted: Set<MessageID> = []
  /// The position up to which every event is known.
  private(set) var cursor: ShopPosition?
  private(set) var faults: [String] = []
  /// The number of upgrades that were answered with the missed events.
  private(set) var resumed = 0
  private var client: BackendClient?

  /// Connects, first with the newest page if nothing is known, and reads what was missed.
  mutating func connect(to rig: BackendRig, token: String) async throws {
    let rest = try rig.client()
    if cursor == nil { try await begin(rest, token) }
    let client = try rig.client()
    let after = cursor?.description
    let answer = try await client.follow(token: token, after: after, events: true)
    guard answer.headers["holdfast-events"] == "1",
      let head = answer.headers["holdfast-head"].flatMap({ ShopPosition($0) })
    else { return faults.append("the upgrade was answered by \(answer)") }
    self.client = client
    if answer.headers["holdfast-after"] != nil {
      resumed += 1
      while cursor != head { try await readFrame(isDense: false) }
    } else {
      try await catchUp(rest, token)
    }
  }

  /// Cuts the connection.
  mutating func cut() async {
    await client?.leave()
    client = nil
  }

  /// Reads frames until an event is known.
  mutating func read(to position: ShopPosition) async throws {
    while let cursor, cursor.offset < position.offset { try await readFrame(isDense: true) }
  }

  private mutating func begin(_ rest: BackendClient, _ token: String) async throws {
    var page = try await rest.page("page=1&limit=3", token: token, events: true)
    cursor = page.head
    page.messages.forEach { apply($0) }
    while page.hasNext, let oldest = page.messages.last?.position {
      page = try await rest.page("before=\(oldest)&limit=3", token: token, events: true)
      page.messages.forEach { apply($0) }
    }
  }

  private mutating func catchUp(_ rest: BackendClient, _ token: String) async throws {
    var hasNext = true
    while hasNext, let after = cursor {
      let page = try await rest.page("after=\(after)&limit=3", token: token, events: true)
      page.messages.forEach { apply($0) }
      page.deleted.forEach { apply($0) }
      guard let through = page.through else { return faults.append("a page has no `through`") }
      (hasNext, cursor) = (page.hasNext, through)
    }
  }

  private mutating func readFrame(isDense: Bool) async throws {
    guard let client, let last = cursor else { return faults.append("no connection") }
    let version: ShopPosition?
    switch try await client.message() {
    case .message(let message), .edited(let message):
      apply(message)
      version = message.version
    case .deleted(let deletion):
      apply(deletion)
      version = deletion.changed
    case .draining, .unknown: return
    }
    let offset = version?.offset ?? 0
    guard isDense ? offset == last.offset + 1 : offset > last.offset else {
      return faults.append("a frame with \(offset) follows \(last)")
    }
    cursor = version
  }

  private mutating func apply(_ message: ShopMessage) {
    guard !deleted.contains(message.id) else { return }
    let known = messages[message.id]?.version?.offset ?? 0
    if known <= message.version?.offset ?? 0 { messages[message.id] = message }
  }

  private mutating func apply(_ deletion: ShopDeletion) {
    messages[deletion.id] = nil
    deleted.insert(deletion.id)
  }
}

/// A client that knows the original protocol alone. It reads messages, and edits and deletions when
/// it fetches all messages.
struct PlainFollower {
  private(set) var messages: [MessageID: ShopMessage] = [:]
  private(set) var frames = 0
  private var client: BackendClient?

  /// Connects, and then fetches all messages.
  mutating func connect(to rig: BackendRig, token: String) async throws {
    let client = try rig.client()
    _ = try await client.follow(token: token)
    self.client = client
    try await refresh(rig, token: token)
  }

  mutating func cut() async {
    await client?.leave()
    client = nil
  }

  mutating func refresh(_ rig: BackendRig, token: String) async throws {
    let all = try await rig.client().ask(
      "GET", ShopRoute.all(BackendRig.shop).path, token: token)
    messages = Dictionary(uniqueKeysWithValues: try all.page().messages.map { ($0.id, $0) })
  }

  /// Reads frames until a message arrives.
  mutating func read(to id: MessageID) async throws {
    while let client {
      guard case .message(let message) = try await client.message() else { continue }
      frames += 1
      messages[message.id] = message
      if message.id == id { return }
    }
  }
}

extension BackendClient {
  /// Requests a page of the shop.
  func page(_ query: String, token: String, events: Bool = false) throws -> Page {
    let answer = try ask(
      "GET", ShopRoute.paginated(BackendRig.shop).path + "?\(query)", token: token,
      fields: events ? ["Holdfast-Events: 1"] : [])
    return try answer.page()
  }

  /// Replaces the text of a message. `text` must need no escaping.
  func edit(
    _ id: MessageID, to text: String, token: String, key: UUID128? = nil
  ) throws -> SocketsClient.Response {
    try ask(
      "PUT", ShopRoute.send.path, token: token,
      fields: key.map { ["Idempotency-Key: \($0)"] } ?? [],
      body: #"{"message_id":"\#(id)","message":"\#(text)"}"#)
  }

  func delete(_ id: MessageID, token: String) throws -> SocketsClient.Response {
    try ask("DELETE", "\(ShopRoute.send.path)/\(id)", token: token)
  }
}
