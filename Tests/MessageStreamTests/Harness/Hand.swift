import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// A model that a test leads step by step: each answer is given by hand, only the store is prompt.
struct Hand {
  static let wall = StreamHarness.epochStart

  var model: StreamModel
  var effects: [StreamModel.Effect] = []
  private(set) var now = Instant.zero
  /// Whether each change is stored at once.
  var keepsPromptly = true

  init(
    cursor: Cursor = Cursor(), user: String? = nil, outbox: [OutboxEntry] = [],
    change: (inout StreamSettings) -> Void = { _ in }
  ) {
    var settings = StreamHarness.settings
    settings.user = user
    change(&settings)
    model = StreamModel(settings: settings, seed: 1)
    give(.credentials(.available(expiresIn: nil)))
    give(.open(at: Self.wall))
    give(.loaded(TimelineSnapshot(cursor: cursor, outbox: outbox)))
  }

  /// Connected, with everything up to this offset; a catch-up is under way to another head.
  static func connected(
    at offset: UInt64, head: UInt64? = nil, change: (inout StreamSettings) -> Void = { _ in }
  ) -> Hand {
    let cursor = Cursor(position: at(offset), wholeAt: wall)
    var hand = Hand(cursor: cursor, change: change)
    hand.connect(page([], head: offset), head: at(head ?? offset))
    return hand
  }

  /// Connected to a plain server that has nothing, with no catch-up under way.
  static func plain(user: String? = nil) -> Hand {
    var hand = Hand(cursor: Cursor(time: wall, wholeAt: wall), user: user)
    hand.answer(nothing)
    hand.connect(nothing, head: nil)
    hand.answer(nothing)
    hand.answer(nothing)
    return hand
  }

  /// A launch that finds this in its store, after what came before.
  static func launched(
    with snapshot: TimelineSnapshot, after inputs: [StreamModel.Input] = []
  ) -> Hand {
    var hand = Hand()
    hand.model = StreamModel(settings: StreamHarness.settings, seed: 1)
    hand.effects = []
    for input in inputs + [.credentials(.available(expiresIn: nil)), .open(at: wall)] {
      hand.give(input)
    }
    hand.give(.loaded(snapshot))
    return hand
  }

  mutating func give(_ input: StreamModel.Input) { carryOut(model.handle(input, at: now)) }

  /// Gives the model an event of its socket.
  mutating func give(_ event: LinkEvent) { give(.link(event, at: Self.wall)) }

  /// Gives the model a change of the device.
  mutating func give(_ change: DeviceChange, at wall: Timestamp = Hand.wall) {
    give(.link(.device(change), at: wall))
  }

  private mutating func carryOut(_ new: [StreamModel.Effect]) {
    #expect(model.brokenInvariants(.thorough) == [])
    effects += new
    for case .commit(let id, let change) in new where keepsPromptly {
      give(.committed(id, TimelineCommit(inserted: change.messages.map(\.id))))
    }
  }

  /// Lets time pass on a link that is heard from; every new request for a page gets this answer.
  mutating func pass(_ seconds: Int, answering page: Page? = nil) {
    let end = now.advanced(by: .seconds(Int64(seconds)))
    while let due = model.deadline, due <= end {
      let asked = fetches.count
      now = max(now, due)
      carryOut(model.tick(at: now))
      if let attempt = model.link.currentAttempt { give(.ping(attempt)) }
      if let page, fetches.count > asked { answer(page) }
    }
    now = end
  }

  /// The store has the last change.
  mutating func keepLast() {
    let last = effects.last { if case .commit = $0 { true } else { false } }
    guard case .commit(let id, let change) = last else { return }
    give(.committed(id, TimelineCommit(inserted: change.messages.map(\.id))))
  }

  /// The store refuses the last change.
  mutating func refuseCommit() {
    let ids = effects.compactMap { if case .commit(let id, _) = $0 { id } else { nil } }
    if let last = ids.last { give(.commitFailed(last, .full(detail: ""))) }
  }

  mutating func connect(_ page: Page, head: Position?) {
    answer(page)
    if let attempt = model.link.currentAttempt { give(.opened(attempt, head: head)) }
  }

  /// The socket is lost, and the next one opens: behind the position that was named, if so.
  mutating func reconnect(head: UInt64, settles: Bool) {
    lose()
    guard let attempt = model.link.currentAttempt else { return }
    give(.opened(attempt, head: Self.at(head), after: settles ? named : nil))
  }

  /// The socket is lost, and the next one is under way.
  mutating func lose() {
    guard let lost = model.link.currentAttempt else { return }
    give(.lost(lost, .reset))
    while model.link.currentAttempt == nil, let due = model.deadline {
      now = max(now, due)
      carryOut(model.tick(at: now))
    }
  }

  /// What the last try to connect wants first.
  var named: Position? {
    let opens = effects.compactMap { effect in
      if case .open(_, let after) = effect { after } else { Position?.none }
    }
    return opens.last
  }

  mutating func answer(_ page: Page) {
    if let last = fetches.last { give(.fetched(last.id, page)) }
  }

  /// The present try of an entry fails.
  mutating func fail(_ id: UUID128, _ failure: LinkFailure) {
    guard let sending = model.outbox.queue.sending(id) else {
      Issue.record("no try of the entry is under way")
      return
    }
    give(.postFailed(id, try: sending.number, failure))
  }

  mutating func hear(_ message: Message) {
    if let attempt = model.link.currentAttempt { give(.frame(attempt, .message(message))) }
  }

  /// A message that is too large was dropped: what it was is asked for.
  mutating func oversize() {
    if let attempt = model.link.currentAttempt { give(.oversized(attempt, bytes: 1)) }
  }

  mutating func send(_ text: String, ahead: Duration = .zero) {
    give(.send(text: text, parent: nil, at: Self.wall.advanced(by: ahead)))
  }

  var fetches: [(id: FetchID, query: PageQuery)] {
    effects.compactMap { if case .fetch(let id, let query) = $0 { (id, query) } else { nil } }
  }

  var commits: [TimelineChange] {
    effects.compactMap { if case .commit(_, let change) = $0 { change } else { nil } }
  }

  var posts: [OutboxEntry] {
    effects.compactMap { if case .post(let entry, _) = $0 { entry } else { nil } }
  }

  var texts: [String] {
    updates.flatMap { update in
      guard case .messages(let messages, via: _) = update else { return [String]() }
      return messages.map(\.text)
    }
  }

  var updates: [StreamUpdate] {
    effects.compactMap { if case .update(let update) = $0 { update } else { nil } }
  }

  var histories: [StreamUpdate] {
    updates.filter { if case .history = $0 { true } else { false } }
  }

  // What a server says.

  static let nothing = Page(messages: [], hasNext: false)
  static let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")

  static func at(_ offset: UInt64) -> Position { Position(epoch: "e", offset: offset) }

  static func message(
    _ number: UInt64, text: String? = nil, user: String = "you", isPlain: Bool = false
  ) -> Message {
    Message(
      id: UUID128(high: 7, low: number), shop: StreamHarness.settings.shop, user: user,
      username: nil, text: text ?? "m\(number)",
      createdAt: wall.advanced(by: .seconds(Int64(number % 100_000))),
      position: isPlain ? nil : at(number))
  }

  static func page(
    _ numbers: some Sequence<UInt64>, head: UInt64, recovered: Bool = true, hasNext: Bool = false,
    rejected: Int = 0
  ) -> Page {
    Page(
      messages: numbers.map { message($0) }, hasNext: hasNext, head: at(head),
      recovered: recovered, rejected: rejected)
  }

  /// Another message than the one of this number, at its position.
  static func other(_ offset: UInt64, _ text: String = "theirs") -> Message {
    var message = message(1000 + offset, text: text, user: "me")
    message.position = at(offset)
    return message
  }

  /// Messages without positions, in this order.
  static func plainPage(_ numbers: [UInt64], hasNext: Bool = true) -> Page {
    Page(messages: numbers.map { message($0, isPlain: true) }, hasNext: hasNext)
  }

  /// Words that an earlier run left unsent.
  static func entry(_ text: String) -> OutboxEntry {
    OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: message(1).shop, text: text, createdAt: wall)
  }
}
