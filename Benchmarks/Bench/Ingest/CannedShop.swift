import HoldfastCore
import HoldfastMessageData
import HoldfastProtocols
import HoldfastServerSockets
import Synchronization

/// A shop whose responses are prepared in advance, so that only the client's time is measured.
struct CannedShop: Sendable {
  static let epoch = "canned"

  let shop: ShopID
  let messages: [ShopMessage]

  /// Creates messages whose frames have 300 bytes and whose times are one second apart.
  init(_ count: Int) throws {
    guard let shop = ShopID("bench") else { throw Unavailable("a plain word is a shop id") }
    self.shop = shop
    let text = String(repeating: "rye and wheat ", count: 6)
    messages = (1...max(count, 1)).map { number in
      var mixer = RandomSource(seed: UInt64(number))
      return ShopMessage(
        id: UUID128(high: mixer.next(), low: mixer.next()), shop: shop, user: "ann",
        username: "Ann", text: "\(text)\(number)",
        createdAt: Timestamp(
          nanoseconds: 1_800_000_000_000_000_000 + Int64(number) * 1_000_000_000),
        position: ShopPosition(epoch: Self.epoch, offset: UInt64(number)))
    }
  }

  /// All messages as WebSocket frames, in pieces of about 64 KiB.
  var pieces: [[UInt8]] {
    var pieces: [[UInt8]] = []
    var piece: [UInt8] = []
    for message in messages {
      piece += WebSocketFrame.text(StreamCodec.encode(message))
      if piece.count > 65_536 {
        pieces.append(piece)
        piece = []
      }
    }
    return pieces + (piece.isEmpty ? [] : [piece])
  }

  /// Starts a server that sends all messages to each client.
  func streaming() async throws -> CannedServer {
    try await CannedServer(CannedHandler(self, pieces: pieces, head: 0))
  }

  /// Starts a server that sends no messages but reports a head, so that clients fetch all messages.
  func paged() async throws -> CannedServer {
    try await CannedServer(CannedHandler(self, pieces: [], head: messages.count))
  }

  /// Returns the page of at most 100 messages after an offset.
  func page(after offset: Int) -> [UInt8] {
    let found = messages.dropFirst(offset).prefix(100)
    let page = Page(
      messages: Array(found), hasNext: offset + found.count < messages.count,
      head: ShopPosition(epoch: Self.epoch, offset: UInt64(messages.count)))
    return PageCodec.encode(
      page, query: .after(ShopPosition(epoch: Self.epoch, offset: UInt64(offset)), limit: 100),
      total: UInt64(messages.count - offset))
  }
}

/// A server of a canned shop.
struct CannedServer: Sendable {
  let server: SocketServer<CannedHandler>
  let port: UInt16

  init(_ handler: sending CannedHandler) async throws {
    var configuration = SocketServerConfiguration()
    configuration.maxQueuedBytes = 1 << 30
    server = try SocketServer(configuration, handler: handler)
    let bound = try BoundPort(configuration)
    port = bound.number
    try await server.start(on: bound)
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// Returns the time at which the most recent client was accepted.
  func opened() async -> ContinuousClock.Instant? {
    await server.run { handler, _ in handler.openedAt }
  }
}

/// A handler that sends its pieces as fast as clients read them, and serves pages by their offset.
struct CannedHandler: SocketHandler {
  let canned: CannedShop
  let pieces: [[UInt8]]
  let head: Int
  var openedAt: ContinuousClock.Instant?
  /// The pages prepared or requested so far, by offset.
  private var pages: [Int: [UInt8]] = [:]

  init(_ canned: CannedShop, pieces: [[UInt8]], head: Int) {
    (self.canned, self.pieces, self.head) = (canned, pieces, head)
    // The pages of a complete catch-up are prepared in advance.
    guard head > 0 else { return }
    for offset in stride(from: 0, to: head, by: 100) { pages[offset] = canned.page(after: offset) }
  }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .upgrade(let id, _):
      hub.accept(id, headers: [(StreamHeader.head, "\(CannedShop.epoch):\(head)")])
    case .opened(let id):
      openedAt = .now
      for piece in pieces { hub.send(frame: piece, to: [id]) }
    case .request(let id, let request, _):
      hub.respond(
        to: id, status: 200, headers: [("Content-Type", "application/json")],
        body: body(for: request))
    case .abandoned, .received, .text, .binary, .pong, .overflow, .drained, .closed, .woke,
      .starved, .crowded, .announced, .cut, .passed:
      break
    }
  }

  private mutating func body(for request: HTTPRequestHead) -> [UInt8] {
    let mark = "after=\(CannedShop.epoch)%3A"
    guard let found = request.target.ranges(of: mark).first,
      let offset = Int(request.target[found.upperBound...].prefix { $0.isNumber })
    else {
      let position = ShopPosition(epoch: CannedShop.epoch, offset: 0)
      return PageCodec.encode(
        Page(messages: [], hasNext: false, head: position),
        query: .page(number: 1, limit: 50), total: 0)
    }
    let page = pages[offset] ?? canned.page(after: offset)
    pages[offset] = page
    return page
  }
}
