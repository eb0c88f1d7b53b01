import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// A repeatable workload that measures how much one input costs a machine.
public enum EngineScenario: String, Sendable, CaseIterable {
  /// A connected link receives a byte.
  case heard
  /// A link loses its socket, waits, reconnects, and is connected.
  case reconnect
  /// A stream receives a message over its socket, stores it and shows it.
  case message
  /// A stream receives a page of 100 messages that it already has.
  case knownPage
  /// A page of 10 messages is decoded from JSON.
  case readPage
  /// The same page is encoded as JSON.
  case writePage

  /// Plays the scenario `count` times, and returns the number of inputs and ticks.
  public func play(_ count: Int) -> Int {
    switch self {
    case .heard: playHeard(count)
    case .reconnect: playReconnect(count)
    case .message: playMessage(count)
    case .knownPage: playKnownPage(count)
    case .readPage, .writePage: playPages(count)
    }
  }

  private func playHeard(_ count: Int) -> Int {
    var player = LinkPlayer()
    player.connect()
    for _ in 0..<count {
      player.now = player.now.advanced(by: .milliseconds(10))
      if let attempt = player.link.currentAttempt { player.give(.heard(attempt)) }
    }
    return player.inputs
  }

  private func playReconnect(_ count: Int) -> Int {
    var player = LinkPlayer()
    player.connect()
    for _ in 0..<count {
      player.now = player.now.advanced(by: .seconds(20))
      if let attempt = player.link.currentAttempt { player.give(.lost(attempt, .reset)) }
      player.connect()
    }
    return player.inputs
  }

  private func playMessage(_ count: Int) -> Int {
    guard var player = StreamPlayer() else { return 0 }
    for number in 0..<count { player.receive(UInt64(number) + 1) }
    return player.inputs
  }

  private func playKnownPage(_ count: Int) -> Int {
    guard var player = StreamPlayer() else { return 0 }
    for number in 1...100 { player.receive(UInt64(number)) }
    for _ in 0..<count { player.refresh() }
    return player.inputs
  }

  private func playPages(_ count: Int) -> Int {
    guard let shop = ShopID("bench") else { return 0 }
    let messages = (1...10).map { StreamPlayer.message($0, in: shop) }
    let page = Page(messages: messages, hasNext: true, head: messages.last?.position)
    let query = PageQuery.page(number: 1, limit: 10)
    let body = PageCodec.encode(page, query: query, total: 30)
    var done = 0
    for _ in 0..<count {
      if self == .readPage {
        done += (try? PageCodec.decode(body, shop: shop)) == page ? 1 : 0
      } else {
        done += PageCodec.encode(page, query: query, total: 30).count == body.count ? 1 : 0
      }
    }
    return done
  }
}

/// A link whose effects are carried out at once.
private struct LinkPlayer {
  var link = HeldLink(policy: .messageStream, seed: 1)
  var now = Instant.zero
  var inputs = 0

  init() {
    give(.credentials(.available(expiresIn: nil)))
    give(.lifecycle(.foreground))
    give(.reachability(.reachable(path: PathID("wlan0"))))
    give(.setIntent(.live))
  }

  mutating func give(_ input: HeldLink.Input) {
    inputs += 1
    answer(link.handle(input, at: now))
  }

  /// Advances time until the link is connected.
  mutating func connect() {
    for _ in 0..<100 where link.status.phase != .connected {
      guard let due = link.deadline else { return }
      now = max(now, due)
      inputs += 1
      answer(link.tick(at: now))
    }
  }

  private mutating func answer(_ effects: [HeldLink.Effect]) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): give(.prepared(attempt))
      case .open(let attempt): give(.opened(attempt))
      case .poll(let poll): give(.polled(poll, nil))
      case .close, .ping, .refreshCredentials, .status, .arm, .disarm: break
      }
    }
  }
}

/// A stream whose effects are carried out at once.
private struct StreamPlayer {
  private static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

  private let shop: ShopID
  private var model: StreamModel
  private var now = Instant.zero
  private var known: [ShopMessage] = []
  var inputs = 0

  init?() {
    guard let shop = ShopID("bench") else { return nil }
    self.shop = shop
    model = StreamModel(
      settings: StreamSettings(shop: shop, policy: .messageStream), seed: 1)
    give(.credentials(.available(expiresIn: nil)))
    give(.link(.device(.lifecycle(.foreground)), at: Self.start))
    let path = PathID("wlan0")
    give(.link(.device(.reachability(.reachable(path: path))), at: Self.start))
    give(.open(at: Self.start))
  }

  static func message(_ number: UInt64, in shop: ShopID) -> ShopMessage {
    var mixer = RandomSource(seed: number)
    return ShopMessage(
      id: UUID128(high: mixer.next(), low: number), shop: shop, user: "ann", username: "Ann",
      text: "two rye loaves, please",
      createdAt: start.advanced(by: .seconds(Int64(number))),
      position: ShopPosition(epoch: "e", offset: number))
  }

  mutating func receive(_ number: UInt64) {
    now = now.advanced(by: .milliseconds(10))
    let message = Self.message(number, in: shop)
    if known.count < 100 { known.append(message) }
    guard let attempt = model.link.currentAttempt else { return }
    give(.frame(attempt, .message(message)))
  }

  mutating func refresh() {
    now = now.advanced(by: .seconds(10))
    give(.refresh)
  }

  private mutating func give(_ input: StreamModel.Input) {
    inputs += 1
    for effect in model.handle(input, at: now) { answer(effect) }
  }

  private mutating func answer(_ effect: StreamModel.Effect) {
    switch effect {
    case .open(let attempt, _): give(.opened(attempt, head: ShopPosition(epoch: "e", offset: 0)))
    case .fetch(let id, _):
      let head = ShopPosition(epoch: "e", offset: UInt64(known.count))
      give(.fetched(id, Page(messages: known, hasNext: false, head: head)))
    case .load: give(.loaded(TimelineSnapshot()))
    case .commit(let id, let change):
      give(.committed(id, TimelineCommit(inserted: change.messages.map(\.id))))
    case .readOlder: give(.older([]))
    case .close, .ping, .refreshCredentials, .post, .upload, .update: break
    }
  }
}
