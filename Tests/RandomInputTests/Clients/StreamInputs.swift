import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

/// Random inputs for the stream of a shop. Its limits are small.
struct StreamInputs: LinkedGenerator {
  var run: RandomRun<StreamModel>
  private var server: StreamServer
  private let settings: StreamSettings
  private var disk = StoredTimeline()
  // MARK: Requests that have not been answered
  private var commit: (id: CommitID, change: TimelineChange)?
  private var isLoading = false
  private var read: (key: TimelineKey, limit: Int)?
  private var fetches: [(id: FetchID, query: PageQuery)] = []
  private var posts: [(entry: OutboxEntry, number: TryID)] = []
  private var uploads: [(entry: OutboxEntry, attempt: TryID)] = []
  private var dial: (attempt: AttemptID, after: ShopPosition?)?
  private var ping: UInt64 = 0
  private var wantsCredentials = false
  /// The number of messages of the log that were sent over the current socket.
  private var sent = 0
  // MARK: Notes for properties
  private var shown: Set<MessageID> = []
  /// The outbox entries that were shown to the user and are still pending.
  private var waiting: Set<UUID128> = []

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    guard let shop = ShopID("shop") else { preconditionFailure("the name is valid") }
    settings = Self.settings(of: shop, &source)
    server = StreamServer(
      shop, isPlain: source.oneIn(2), RandomSource(seed: source.generator.next()))
    run = RandomRun(
      StreamModel(settings: settings, seed: source.generator.next()), seed: seed,
      generator: source.generator)
  }

  private static func settings(
    of shop: ShopID, _ source: inout RandomPolicies
  ) -> StreamSettings {
    var settings = StreamSettings(
      shop: shop, policy: .messageStream, user: source.maybe("me"))
    settings.historyPage = source.number(3...5)
    settings.catchUpPage = source.number(2...5)
    settings.catchUpPages = source.number(2...5)
    settings.memory = source.number(8...27)
    settings.longAbsence = .seconds(source.number(8...60))
    settings.overlap = .seconds(4)
    settings.outboxLimit = 3
    settings.malformedLimit = 2
    settings.fetchTimeout = .seconds(3)
    settings.sendRetries = .exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0, floor: .zero, attempts: 2)
    settings.sendsOnly = source.oneIn(8)
    settings.wantsEvents = source.oneIn(2)
    return settings
  }

  mutating func begin() {
    for _ in 0..<number(0...20) { server.write(at: wall) }
    launch()
  }

  mutating func act() {
    passTime([.milliseconds(200), .milliseconds(999), .seconds(1), .seconds(3), .seconds(31)])
    if wantsCredentials, oneIn(3) {
      wantsCredentials = false
      give(.credentials(.available(expiresIn: nil)))
    }
    switch number(0...32) {
    case 0...6: answerStore()
    case 7...11: answerFetch()
    case 12...18: receive()
    case 19...21: use()
    case 22, 23:
      let parent = oneIn(3) ? server.anyMessage()?.id : nil
      let id = UUID128.random(using: &generator)
      let image = oneIn(4) ? OutboxImage(type: .png, size: number(0...9_000)) : nil
      let text = image == nil ? one(["a", "b"]) : one(["a", ""])
      give(.send(id: id, text: text, parent: parent, at: wall, image: image))
    case 24: oneIn(9) ? give(.credentials(credentialsEvent())) : changeDevice()
    case 25: disturb()
    case 26...28: oneIn(3) ? answerUpload() : answerPost()
    case 29: server.change(at: wall)
    case 30: for _ in 0..<number(1...9) { server.write(at: wall) }
    case 31: if oneIn(3) { leave() }
    case _:
      guard oneIn(6) else { return }
      restart(StreamModel(settings: settings, seed: generator.next()))
      launch()
    }
  }

  mutating func note(_ step: MachineStep<StreamModel>) {
    for effect in step.effects {
      switch effect {
      case .open(let attempt, let after): dial = (attempt, after)
      case .close(let attempt, _): if dial?.attempt == attempt { dial = nil }
      case .ping(_, let id): ping = id
      case .fetch(let id, let query): fetches.append((id, query))
      case .post(let entry, let number): posts.append((entry, number))
      case .load: isLoading = true
      case .commit(let id, let change): commit = (id, change)
      case .readOlder(let key, let limit): read = (key, limit)
      case .refreshCredentials: wantsCredentials = true
      case .upload(let entry, let number): uploads.append((entry, number))
      case .update: continue
      }
    }
    shown.subtract(step.deleted)
    shown.formUnion(step.shown)
    waiting.formUnion(step.takenEntries)
    waiting.subtract(step.endedEntries)
  }

  mutating func noteRestart() {
    (commit, isLoading, read, dial) = (nil, false, nil, nil)
    (fetches, posts, uploads, wantsCredentials) = ([], [], [], false)
    (shown, waiting) = ([], [])
  }

  static func request(in effect: StreamModel.Effect) -> String? {
    switch effect {
    case .open(let attempt, _): "open \(attempt)"
    case .ping(let attempt, let id): "ping \(attempt) \(id)"
    case .fetch(let id, _): "fetch \(id)"
    case .post(let entry, let number): "post \(entry.id) \(number)"
    case .upload(let entry, let number): "upload \(entry.id) \(number)"
    case .commit(let id, _): "commit \(id)"
    case .close, .refreshCredentials, .load, .readOlder, .update: nil
    }
  }

  static func attempt(of effect: StreamModel.Effect) -> AttemptID? {
    switch effect {
    case .open(let attempt, _), .close(let attempt, _), .ping(let attempt, _): attempt
    case .refreshCredentials, .fetch, .post, .upload, .load, .commit, .readOlder, .update: nil
    }
  }

  static let properties: [MachineProperty<StreamInputs>] = [
    .usesPresentAttempt,
    MachineProperty("each message is shown once") { generator, step in
      let ids = step.shown
      // A message that was deleted is shown again if the server sends it again.
      let earlier = generator.shown.subtracting(step.deleted)
      return Set(ids).count == ids.count && earlier.isDisjoint(with: ids)
    },
    MachineProperty("an entry waits until it went out or was discarded") { generator, step in
      generator.waiting.subtracting(step.endedEntries)
        .isSubset(of: step.after.outbox.entries.map(\.id) + step.after.endingChanges)
    },
  ]
}

// MARK: Inputs from the app and the device
extension StreamInputs {
  private mutating func launch() {
    give(.credentials(.available(expiresIn: nil)))
    free()
    if oneIn(3) { give(.user("me")) }
    give(.open(at: wall))
  }

  /// Puts the app into the background for a while.
  private mutating func leave() {
    report(.device(.lifecycle(.background)))
    for _ in 0..<number(0...6) { server.write(at: wall) }
    if oneIn(3) { skip(to: now.advanced(by: .seconds(number(10...40)))) }
    give(nil)
    report(.device(.lifecycle(.foreground)))
  }

  private mutating func use() {
    let id = one(machine.outbox.entries.map(\.id) + [UUID128(high: 0, low: 0)])
    switch number(0...17) {
    case 14...17: change()
    case 0...4: give(.loadOlder)
    case 5: give(.refresh)
    case 6: give(.retry(id))
    case 7: give(.discard(id))
    case 8: give(.reader(isBehind: oneIn(3)))
    case 9: give(.realtime(!oneIn(3)))
    case 10: if oneIn(3) { give(.close) }
    case 11: give(.user(one(["me", "you"])))
    case _: give(.open(at: wall))
    }
  }
}

// MARK: Edits and deletions by the user
extension StreamInputs {
  private mutating func change() {
    guard let message = oneIn(9) ? server.anyMessage() : server.messages.last else { return }
    let id = UUID128.random(using: &generator)
    if oneIn(3) { return give(.delete(id: id, message.id, at: wall)) }
    give(.edit(id: id, message.id, text: one(["a", "edit", ""]), at: wall))
  }

  /// Answers an edit or a deletion as a server with or without positions does, or of another
  /// message.
  private mutating func answerChange(_ entry: OutboxEntry) {
    guard let target = entry.target else { return }
    if case .edit = entry.action {
      var message = oneIn(6) ? server.anyMessage() : server.messages.first { $0.id == target }
      message?.text = entry.text
      message?.changed = maybe(anyPosition())
      return give(.edited(entry.id, server.isPlain ? nil : message))
    }
    let deletion = ShopDeletion(
      id: oneIn(6) ? entry.id : target, shop: entry.shop, position: anyPosition(),
      changed: anyPosition())
    give(.deleted(entry.id, server.isPlain || oneIn(6) ? nil : deletion))
  }
}

// MARK: Answers from the store and the server
extension StreamInputs {
  /// Answers a pending request to the store.
  private mutating func answerStore() {
    let failure = storeFailure()
    let fails = oneIn(9)
    if isLoading {
      isLoading = false
      give(fails ? .loadFailed(failure) : .loaded(disk.load(limit: settings.memory)))
    } else if let (key, limit) = read, oneIn(2) || commit == nil {
      read = nil
      give(fails ? .olderFailed(failure) : .older(disk.older(than: key, limit: limit)))
    } else if let (id, change) = commit {
      commit = nil
      give(fails ? .commitFailed(id, failure) : .committed(id, disk.commit(change)))
    } else if oneIn(9) {
      give(oneIn(2) ? .committed(CommitID(0), TimelineCommit()) : .loaded(TimelineSnapshot()))
    }
  }

  /// Answers a request for a page with a page or a failure.
  private mutating func answerFetch() {
    guard !fetches.isEmpty else { return }
    let index = number(0...fetches.count - 1)
    let (id, query) = fetches[index]
    if !oneIn(12) { fetches.remove(at: index) }
    guard oneIn(10) else {
      var page = server.page(query)
      if settings.wantsEvents, !oneIn(3) { addEvents(to: &page) }
      if oneIn(6) { page.oldest = anyPosition() }
      return give(.fetched(id, page))
    }
    give(.fetchFailed(id, linkFailure()))
  }

  /// Adds edits and deletions to a page. They may contradict the page.
  private mutating func addEvents(to page: inout Page) {
    page.through = maybe(anyPosition())
    page.changesThrough = maybe(anyPosition())
    page.deleted = (0..<number(0...2)).compactMap { _ in anyDeletion() }
    page.changes = (0..<number(0...2)).compactMap { _ in anyEdit() }
    for index in page.messages.indices where oneIn(4) {
      page.messages[index].changed = anyPosition()
    }
  }

  private mutating func anyPosition() -> ShopPosition {
    let offset = Int64(server.head.offset) + Int64(number(-6...3))
    return ShopPosition(
      epoch: oneIn(12) ? "f" : server.head.epoch, offset: UInt64(max(0, offset)))
  }

  private mutating func anyEdit() -> ShopMessage? {
    guard var message = server.anyMessage() else { return nil }
    (message.text, message.isEdited, message.changed) = ("edited", true, maybe(anyPosition()))
    return message
  }

  private mutating func anyDeletion() -> ShopDeletion? {
    server.anyMessage().map {
      ShopDeletion(
        id: $0.id, shop: $0.shop, position: $0.position ?? anyPosition(), changed: anyPosition())
    }
  }

  private mutating func anyEvent() -> StreamModel.Frame? {
    if oneIn(2) { return anyEdit().map { .edited($0) } }
    return anyDeletion().map { .deleted($0) }
  }

  /// Ends an upload, lets it fail, or ends it twice.
  private mutating func answerUpload() {
    guard !uploads.isEmpty else { return }
    let index = number(0...uploads.count - 1)
    let (entry, attempt) = uploads[index]
    if !oneIn(9) { uploads.remove(at: index) }
    switch number(0...7) {
    case 0: give(.postFailed(entry.id, try: attempt, linkFailure()))
    case 1:
      let status = one([400, 404, 413, 415])
      let failure = LinkFailure.http(status: status, retryAfter: nil, detail: one(["", "no"]))
      give(.postFailed(entry.id, try: attempt, failure))
    case 2: give(.uploadRefused(entry.id, try: attempt, reason: "gone"))
    case _:
      let url = "https://shop.example/" + one(["1", "2", String(repeating: "3", count: 600)])
      let time = oneIn(4) ? wall.advanced(by: .seconds(-90_000)) : wall
      give(.uploaded(entry.id, url: oneIn(4) ? entry.image?.url ?? url : url, at: time))
    }
  }

  /// Answers a post, lets it fail, or loses the answer.
  private mutating func answerPost() {
    guard !posts.isEmpty else { return }
    let index = number(0...posts.count - 1)
    let (entry, attempt) = posts[index]
    if !oneIn(9) { posts.remove(at: index) }
    if oneIn(4) {
      let long = LinkFailure.http(status: 413, retryAfter: nil, detail: one(["", "long"]))
      return give(.postFailed(entry.id, try: attempt, oneIn(6) ? long : linkFailure()))
    }
    guard entry.action == .post else {
      if !oneIn(5) { return answerChange(entry) }
      let status = one([403, 404, 409, 410])
      return give(
        .postFailed(
          entry.id, try: attempt, .http(status: status, retryAfter: nil, detail: one(["", "no"]))))
    }
    let message = server.take(entry, at: wall)
    if oneIn(6) { return give(.postFailed(entry.id, try: attempt, .reset)) }
    if !oneIn(6) { give(.posted(entry.id, message)) }
  }

  private mutating func disturb() {
    let frames: [StreamModel.Frame] = [
      .unknown(type: "x"), .malformed(.badDate(field: "x")), .malformed(.missing(field: "x")),
      .malformed(.missing(field: "y")), .draining(within: .seconds(number(0...9))),
    ]
    if settings.wantsEvents, oneIn(2) {
      if let event = anyEvent() { give(.frame(anyAttempt(), event)) }
      return
    }
    oneIn(2) ? give(.frame(anyAttempt(), one(frames))) : disturbLink(ping: ping)
  }

  /// Opens the socket, or delivers the next message on it.
  private mutating func receive() {
    guard let (attempt, after) = dial else { return }
    if machine.link.status.phase != .connected {
      if oneIn(6) { return report(.lost(attempt, linkFailure())) }
      let reportsHead = !server.isPlain && !oneIn(5)
      let start = reportsHead && !oneIn(3) ? after : nil
      sent = start.map { Int($0.offset) } ?? server.messages.count
      let sendsEvents = settings.wantsEvents && oneIn(2)
      return give(
        .opened(
          attempt, head: reportsHead ? server.head : nil, after: start,
          events: sendsEvents ? true : nil))
    }
    // A log that is restored from a backup continues at an earlier position.
    if sent > server.messages.count { sent = max(0, server.messages.count - number(0...3)) }
    if sent >= server.messages.count, oneIn(2) { server.write(at: wall) }
    if oneIn(9) { sent += 1 }
    guard sent < server.messages.count, !oneIn(6) else {
      if let message = server.anyMessage() { give(.frame(attempt, .message(message))) }
      return
    }
    give(.frame(attempt, .message(server.sent(server.messages[sent]))))
    sent += 1
  }
}

extension MachineStep<StreamModel> {
  /// The messages that this step shows for the first time.
  fileprivate var shown: [MessageID] {
    effects.flatMap { effect -> [MessageID] in
      if case .update(.messages(let messages, _)) = effect { messages.map(\.id) } else { [] }
    }
  }

  fileprivate var deleted: [MessageID] {
    effects.flatMap { effect -> [MessageID] in
      if case .update(.deleted(let deletions)) = effect { deletions.map(\.id) } else { [] }
    }
  }

  fileprivate var takenEntries: [UUID128] {
    effects.compactMap { effect in
      guard case .update(.outbox(let entry)) = effect else { return nil }
      return after.outbox.entries.contains { $0.id == entry.id } ? entry.id : nil
    }
  }

  fileprivate var endedEntries: [UUID128] {
    effects.compactMap { effect in
      if case .update(.outboxDone(let id, _)) = effect { id } else { nil }
    }
  }
}
