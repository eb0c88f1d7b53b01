import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Fixtures for these tests: shops, users and tokens.
extension Stage {
  static let shop = id("bakery")
  static let other = id("cellar")

  static func id(_ text: String) -> ShopID {
    guard let id = ShopID(text) else { preconditionFailure("a shop id of a test is valid") }
    return id
  }

  static func claims(
    _ user: String = "ann", shops: [ShopID] = [shop], ttl: Duration = .seconds(3_600)
  ) -> Claims {
    Claims(
      user: user, name: user.uppercased(), shops: shops, expiresAt: dawn.advanced(by: ttl))
  }

  static func token(
    _ user: String = "ann", shops: [ShopID] = [shop], ttl: Duration = .seconds(3_600)
  ) -> Credential {
    .valid(claims(user, shops: shops, ttl: ttl))
  }

  static func draft(_ text: String, in shop: ShopID = shop, key: UUID128? = nil) -> Draft {
    Draft(shop: shop, content: MessageContent(text), key: key)
  }

  static func position(_ offset: UInt64, epoch: String = "e") -> ShopPosition {
    ShopPosition(epoch: epoch, offset: offset)
  }

  /// Returns the refusal of a token for a reason.
  static func refusal(_ reason: String) -> Answer {
    var answer = Answer.error(401, reason)
    answer.challenge = #"Bearer error="invalid_token", error_description="\#(reason)""#
    return answer
  }

  static let notAMember = Answer.error(403, "not a member of this shop")
  static let storeFailed = Answer.error(503, "the store failed", retryAfter: .seconds(2))
  static let busy = Answer.error(503, "too busy", retryAfter: .seconds(2))
  static let draining = Answer.error(503, "draining", retryAfter: .seconds(5))
}

extension ShopServer.Effect {
  /// The messages that the effect appends together; empty for every other effect.
  var appends: [ShopServer.Append] {
    switch self {
    case .append(let appends): appends
    case .shop, .page, .head, .heads, .tail, .tell, .forget, .answer, .accept, .refuse, .send,
      .ping, .close, .drop,
      .finished:
      []
    }
  }
}

extension ShopServer.Append {
  /// The post.
  var post: LogEntry {
    guard case .post(let entry) = change else { preconditionFailure("the change is a post") }
    return entry
  }
  var message: ShopMessage { post.message }
  var key: UUID128? { post.key }
}

/// A store operation that has not been answered.
enum StoreAsk {
  case append(ShopServer.Append)
  case page(ShopID, PageQuery)
  case head(ShopID)
}

/// A test harness that drives a shop server at a settable time.
struct Served {
  var server: ShopServer
  private(set) var now = Instant.zero
  private var requests: UInt64 = 0

  init(_ change: (inout ShopServerPolicy) -> Void = { _ in }) {
    var policy = ShopServerPolicy()
    change(&policy)
    server = ShopServer(policy: policy, seed: 7, at: .zero)
  }

  /// Returns a harness with one open socket.
  static func opened(_ change: (inout ShopServerPolicy) -> Void = { _ in }) -> Served {
    var served = Served(change)
    served.open(1)
    return served
  }

  var wall: Timestamp { Stage.dawn.advanced(by: Instant.zero.duration(to: now)) }

  mutating func pass(_ time: Duration) { now = now.advanced(by: time) }

  /// Sets the time to `instant`, calls the server and returns the effects.
  mutating func tick(at instant: Instant) -> [ShopServer.Effect] {
    now = instant
    return judged(server.tick(at: now))
  }

  mutating func take(_ input: ShopServer.Input) -> [ShopServer.Effect] {
    judged(server.handle(input, at: now))
  }

  private mutating func judged(_ effects: [ShopServer.Effect]) -> [ShopServer.Effect] {
    #expect(server.brokenInvariants(.thorough) == [])
    return effects
  }

  /// Sends a request. The ids of requests count up from 1.
  mutating func ask(
    _ call: Call, as credential: Credential = Stage.token()
  ) -> [ShopServer.Effect] {
    requests += 1
    return take(.request(RequestID(requests), call, credential, wall: wall))
  }

  mutating func upgrade(
    _ connection: UInt64, as credential: Credential = Stage.token(), to shop: ShopID = Stage.shop,
    after: ShopPosition? = nil, events: Bool = false
  ) -> [ShopServer.Effect] {
    take(
      .upgrade(
        ConnectionID(connection), shop, after: after, events: events, credential, wall: wall))
  }

  /// Opens a socket in a room. If the server reads the head of the room, the store reports `head`.
  @discardableResult
  mutating func open(
    _ connection: UInt64, as credential: Credential = Stage.token(), to shop: ShopID = Stage.shop,
    head: UInt64 = 0
  ) -> [ShopServer.Effect] {
    let effects = upgrade(connection, as: credential, to: shop)
    guard case .head(let token, _) = effects.first else { return effects }
    return take(.stored(token, .head(Stage.position(head))))
  }

  /// Posts into a room whose head is known, and returns the message that the store receives.
  mutating func post(
    _ text: String, as credential: Credential = Stage.token(), key: UUID128? = nil
  ) throws -> (StoreToken, ShopMessage) {
    let effects = ask(.send(Stage.draft(text, key: key)), as: credential)
    guard let append = effects.first?.appends.first else { throw NotAppended(effects: effects) }
    return (append.token, append.message)
  }

  /// Edits or deletes a message of a shop whose head is known, and returns the change that the
  /// store receives.
  mutating func change(
    _ call: Call, as credential: Credential = Stage.token(), in shop: ShopID = Stage.shop
  ) throws -> ShopServer.Append {
    let effects = ask(call, as: credential)
    guard case .shop(let token, _) = effects.first, effects.count == 1 else {
      throw NotAppended(effects: effects)
    }
    let found = take(.stored(token, .shop(shop)))
    guard let append = found.first?.appends.first else { throw NotAppended(effects: found) }
    return append
  }

  struct NotAppended: Error {
    var effects: [ShopServer.Effect]
  }

  /// Completes an append at `offset`, and returns the stored message and the resulting effects.
  mutating func store(
    _ appended: (StoreToken, ShopMessage), at offset: UInt64, isNew: Bool = true
  ) -> (stored: ShopMessage, effects: [ShopServer.Effect]) {
    var stored = appended.1
    stored.position = Stage.position(offset)
    return (stored, take(.stored(appended.0, .appended(.posted(stored, isNew: isNew)))))
  }
}
