import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// A harness that drives a stream model step by step. The test supplies each response, except for
/// the store's responses.
struct Harness {
  static let wall = StreamHarness.epochStart

  var model: StreamModel
  var effects: [StreamModel.Effect] = []
  private(set) var now = Instant.zero
  /// Whether each change is stored immediately.
  var storesPromptly = true
  /// The source of the ids of sent messages.
  private var generator = RandomSource(seed: 1)

  init(
    cursor: ShopCursor = ShopCursor(), user: String? = nil, outbox: [OutboxEntry] = [],
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

  /// Returns a connected harness that has all messages up to `offset`. If `head` is a different
  /// offset, a catch-up is in progress.
  static func connected(
    at offset: UInt64, head: UInt64? = nil, change: (inout StreamSettings) -> Void = { _ in }
  ) -> Harness {
    let cursor = ShopCursor(position: at(offset), wholeAt: wall)
    var harness = Harness(cursor: cursor, change: change)
    harness.connect(page([], head: offset), head: at(head ?? offset))
    return harness
  }

  /// Returns a harness connected to a plain server that has no messages. No catch-up is in
  /// progress.
  static func plain(user: String? = nil) -> Harness {
    var harness = Harness(cursor: ShopCursor(time: wall, wholeAt: wall), user: user)
    harness.answer(nothing)
    harness.connect(nothing, head: nil)
    harness.answer(nothing)
    harness.answer(nothing)
    return harness
  }

  /// Returns a harness whose model handles `inputs` and then loads `snapshot` from its store.
  static func launched(
    with snapshot: TimelineSnapshot, after inputs: [StreamModel.Input] = []
  ) -> Harness {
    var harness = Harness()
    harness.model = StreamModel(settings: StreamHarness.settings, seed: 1)
    harness.effects = []
    for input in inputs + [.credentials(.available(expiresIn: nil)), .open(at: wall)] {
      harness.give(input)
    }
    harness.give(.loaded(snapshot))
    return harness
  }

  mutating func give(_ input: StreamModel.Input) { carryOut(model.handle(input, at: now)) }

  /// Passes an event of the socket to the model.
  mutating func give(_ event: LinkEvent) { give(.link(event, at: Self.wall)) }

  /// Passes a change of the device to the model.
  mutating func give(_ change: DeviceChange, at wall: Timestamp = Harness.wall) {
    give(.link(.device(change), at: wall))
  }

  private mutating func carryOut(_ new: [StreamModel.Effect]) {
    #expect(model.brokenInvariants(.thorough) == [])
    effects += new
    for case .commit(let id, let change) in new where storesPromptly {
      give(.committed(id, commit(of: change)))
    }
  }

  /// Returns the answer of a store that has all messages in memory, and none of the new ones.
  private func commit(of change: TimelineChange) -> TimelineCommit {
    TimelineCommit(
      inserted: change.messages.map(\.id),
      edited: (change.texts.map(\.id) + change.edits.map(\.id)).filter {
        model.timeline.contains($0)
      },
      deleted: change.deletions.compactMap { model.timeline[$0.id]?.key },
      rewritten: change.texts.compactMap { model.timeline[$0.id]?.edited(to: $0) })
  }

  /// Lets time pass while the server sends pings. Each new request for a page is answered with
  /// `page`.
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

  /// Reports that the most recent change was stored.
  mutating func storeLast() {
    let last = effects.last { if case .commit = $0 { true } else { false } }
    guard case .commit(let id, let change) = last else { return }
    give(.committed(id, commit(of: change)))
  }

  /// Reports that the store refused the most recent change.
  mutating func refuseCommit() {
    let ids = effects.compactMap { if case .commit(let id, _) = $0 { id } else { nil } }
    if let last = ids.last { give(.commitFailed(last, .full(detail: ""))) }
  }

  mutating func connect(_ page: Page, head: ShopPosition?) {
    answer(page)
    if let attempt = model.link.currentAttempt { give(.opened(attempt, head: head)) }
  }

  /// Loses the socket and opens the next one. If `accepts` is true, the server accepts the position
  /// in the upgrade.
  mutating func reconnect(head: UInt64, accepts: Bool) {
    lose()
    guard let attempt = model.link.currentAttempt else { return }
    give(.opened(attempt, head: Self.at(head), after: accepts ? named : nil))
  }

  /// Loses the socket and waits until the next attempt has begun.
  mutating func lose() {
    guard let lost = model.link.currentAttempt else { return }
    give(.lost(lost, .reset))
    while model.link.currentAttempt == nil, let due = model.deadline {
      now = max(now, due)
      carryOut(model.tick(at: now))
    }
  }

  /// The position in the most recent upgrade. The upgrade requests the backlog after this position.
  var named: ShopPosition? {
    let opens = effects.compactMap { effect in
      if case .open(_, let after) = effect { after } else { ShopPosition?.none }
    }
    return opens.last
  }

  mutating func answer(_ page: Page) {
    if let last = fetches.last { give(.fetched(last.id, page)) }
  }

  /// Fails the current attempt to send an entry.
  mutating func fail(_ id: UUID128, _ failure: LinkFailure) {
    guard let sending = model.outbox.queue.sending(id) else {
      Issue.record("no try of the entry is under way")
      return
    }
    give(.postFailed(id, try: sending.number, failure))
  }

  mutating func receive(_ message: ShopMessage) {
    if let attempt = model.link.currentAttempt { give(.frame(attempt, .message(message))) }
  }

  /// Reports that a message was dropped because it was too large. The model then fetches it over
  /// REST.
  mutating func oversize() {
    if let attempt = model.link.currentAttempt { give(.oversized(attempt, bytes: 1)) }
  }

  mutating func send(_ text: String, ahead: Duration = .zero) {
    let id = UUID128.random(using: &generator)
    give(.send(id: id, text: text, parent: nil, at: Self.wall.advanced(by: ahead)))
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

  // MARK: Responses and messages of the server

  static let nothing = Page(messages: [], hasNext: false)
  static let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")

  static func at(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: "e", offset: offset) }

  static func message(
    _ number: UInt64, text: String? = nil, user: String = "you", isPlain: Bool = false
  ) -> ShopMessage {
    ShopMessage(
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

  /// Returns a different message at the same position as `message(_:)` for this offset.
  static func other(_ offset: UInt64, _ text: String = "theirs") -> ShopMessage {
    var message = message(1000 + offset, text: text, user: "me")
    message.position = at(offset)
    return message
  }

  /// Returns a page of messages without positions, in the given order.
  static func plainPage(_ numbers: [UInt64], hasNext: Bool = true) -> Page {
    Page(messages: numbers.map { message($0, isPlain: true) }, hasNext: hasNext)
  }

  /// Returns an outbox entry that an earlier run did not send.
  static func entry(_ text: String) -> OutboxEntry {
    OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: message(1).shop, text: text, createdAt: wall)
  }
}
