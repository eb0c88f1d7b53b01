import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastPorts
import HoldfastSocket

/// A client of a shop's REST interface. It converts values to requests and responses to values.
struct ShopAPI: Sendable {
  private let configuration: StreamConfiguration
  private let rest: RestCaller
  /// The time limit of one exchange.
  ///
  /// It is shorter than the model's limit, so that a failure reports a cause.
  private static let timeout = Duration.seconds(9)
  /// The maximum size of a body.
  ///
  /// A page has up to 100 messages of 10,000 characters, with 4 bytes each, and their fields.
  private static let maxBodyBytes = 8 << 20

  init(
    _ configuration: StreamConfiguration, _ http: any HTTPClient,
    _ credentials: RequestCredentials
  ) {
    self.configuration = configuration
    rest = RestCaller(
      http: http, credentials: credentials, note: { Envelope.decodeNote($0) })
  }

  /// The requests about images.
  var images: ImageAPI { ImageAPI(server: configuration.server, rest: rest) }

  func page(_ query: PageQuery) async throws(LinkFailure) -> Page {
    let shop = configuration.shop
    var request = request("GET", .paginated(shop))
    request.query = query.parameters
    request.headers = [(StreamHeader.events, StreamHeader.wantsEvents)]
    return try await rest.call(request, accepting: 200...200, "the page") {
      bytes throws(MessageError) in try PageCodec.decode(bytes, shop: shop)
    }
  }

  /// Returns a message; `nil` if the server does not have it, or if it is not among the newest 1,000
  /// of a plain server.
  func message(_ id: MessageID) async throws(LinkFailure) -> ShopMessage? {
    do throws(LinkFailure) {
      let before = try await page(.beforeID(id, limit: 1))
      guard before.head != nil else { return try await plainMessage(id) }
      let earliest = Timestamp(nanoseconds: 0)
      let query = before.messages.first.map { PageQuery.afterID($0.id, limit: 1) }
      return try await page(query ?? .since(earliest, page: 1, limit: 1)).messages.first {
        $0.id == id
      }
    } catch {
      guard case .http(404, _, let detail) = error, !detail.isEmpty else { throw error }
      return nil
    }
  }

  /// Looks for a message on the newest pages.
  private func plainMessage(_ id: MessageID) async throws(LinkFailure) -> ShopMessage? {
    for number in 1...10 {
      let page = try await page(.page(number: number, limit: PageQuery.maxLimit))
      if let found = page.messages.first(where: { $0.id == id }) { return found }
      guard page.hasNext else { break }
    }
    return nil
  }

  func post(_ entry: OutboxEntry) async throws(LinkFailure) -> ShopMessage {
    var request = request("POST", .send)
    request.headers = [("Idempotency-Key", entry.id.description)]
    let message = NewMessage(shop: entry.shop, content: entry.posted)
    request.body = message.encode()
    return try await rest.call(request, accepting: 200...201, "the answer") {
      [shop = configuration.shop] bytes throws(MessageError) in
      try Envelope.decodeMessage(bytes, shop: shop)
    }
  }

  /// Sends an edit. Returns `nil` if the response does not contain the message.
  func edit(_ id: MessageID, _ entry: OutboxEntry) async throws(LinkFailure) -> ShopMessage? {
    var request = request("PUT", .send)
    request.headers = [("Idempotency-Key", entry.id.description)]
    request.body = MessageEdit(id: id, text: entry.text, shop: entry.shop).encode()
    return try await change(request) { bytes, shop throws(MessageError) in
      try Envelope.decodeEdit(bytes, shop: shop)
    }
  }

  /// Sends a deletion. Returns `nil` if the response does not contain it.
  func delete(_ id: MessageID) async throws(LinkFailure) -> ShopDeletion? {
    var request = request("DELETE", .message(id))
    request.query = [("shop_id", configuration.shop.text)]
    return try await change(request) { bytes, shop throws(MessageError) in
      try Envelope.decodeDeletion(bytes, shop: shop)
    }
  }

  /// Sends an edit or a deletion. A success without a body or without readable data counts too.
  private func change<Value>(
    _ request: HTTPCall, read: ([UInt8], ShopID) throws(MessageError) -> Value?
  ) async throws(LinkFailure) -> Value? {
    try await rest.call(request, accepting: 200...204, "the answer") {
      [shop = configuration.shop] bytes throws(MessageError) in
      guard !bytes.isEmpty else { return nil }
      do throws(MessageError) {
        return try read(bytes, shop)
      } catch {
        guard case .malformed = error else { return nil }
        throw error
      }
    }
  }

  private func request(_ method: String, _ route: ShopRoute) -> HTTPCall {
    HTTPCall(
      method: method, url: configuration.url(route), timeout: Self.timeout,
      maxBodyBytes: Self.maxBodyBytes)
  }
}

extension StreamHeader {
  /// The value of `events`.
  static let wantsEvents = "1"
}
