import LinkCore
import LinkRuntime
import LinkWire

/// Speaks the shop's REST interface: requests out of values, values out of answers.
struct ShopAPI: Sendable {
  let configuration: StreamConfiguration
  let http: any HTTPClient
  let vault: TokenVault
  /// The time for one exchange; shorter than the model's own limit, so that causes are told.
  static let timeout = Duration.seconds(9)
  /// A page holds at most 100 messages of 10,000 characters of 4 bytes, and what stands around.
  private static let maxBodyBytes = 8 << 20

  func page(_ query: PageQuery) async throws(LinkFailure) -> Page {
    let route = ShopRoute.paginated(configuration.shop)
    let (response, redaction) = try await send("GET", route, query: query.parameters)
    guard response.status == 200 else { throw redaction.clean(Self.failure(of: response)) }
    try Self.refuseLoginPage(response)
    do throws(MessageError) {
      return try PageCodec.decode(response.body, shop: configuration.shop)
    } catch {
      throw redaction.clean(.protocolError(detail: "the page could not be read: \(error)"))
    }
  }

  func post(_ entry: OutboxEntry) async throws(LinkFailure) -> Message {
    let new = NewMessage(shop: entry.shop, text: entry.text, parent: entry.parent)
    let (response, redaction) = try await send(
      "POST", .send,
      headers: [
        ("Content-Type", "application/json"), ("Idempotency-Key", entry.id.description),
      ],
      body: new.encode())
    guard response.status == 201 || response.status == 200 else {
      throw redaction.clean(Self.failure(of: response))
    }
    try Self.refuseLoginPage(response)
    do throws(MessageError) {
      return try Envelope.decodeMessage(response.body, shop: configuration.shop)
    } catch {
      throw redaction.clean(.protocolError(detail: "the answer could not be read: \(error)"))
    }
  }

  /// What carries a token, by the configured way.
  func credentials(
    _ token: String?
  ) -> (headers: [(name: String, value: String)], query: [(name: String, value: String)]) {
    guard let token else { return ([], []) }
    switch configuration.authentication {
    case .header: return ([("Authorization", "Bearer \(token)")], [])
    case .query: return ([], [("token", token)])
    }
  }

  /// Makes an exchange, and says what must be taken out of any text that came of it.
  private func send(
    _ method: String, _ route: ShopRoute, query: [(name: String, value: String)] = [],
    headers: [(String, String)] = [], body: [UInt8] = []
  ) async throws(LinkFailure) -> (HTTPResponse, Redaction) {
    let token = try await vault.first()
    var request = HTTPRequest(
      method: method, url: configuration.url(route),
      headers: [("Accept", "application/json")] + headers + credentials(token).headers,
      query: query + credentials(token).query, body: body,
      timeout: Self.timeout, maxBodyBytes: Self.maxBodyBytes)
    let redaction = Redaction([token])
    let response = try await exchange(request, redaction)
    guard response.status == 401 else { return (response, redaction) }
    await vault.refused(token)
    // The refusal of an older token says nothing about the present one.
    guard let newer = await vault.token, newer != token else { return (response, redaction) }
    request.headers = [("Accept", "application/json")] + headers + credentials(newer).headers
    request.query = query + credentials(newer).query
    let both = Redaction([token, newer])
    let second = try await exchange(request, both)
    if second.status == 401 { await vault.refused(newer) }
    return (second, both)
  }

  private func exchange(
    _ request: HTTPRequest, _ redaction: Redaction
  ) async throws(LinkFailure) -> HTTPResponse {
    do throws(LinkFailure) {
      return try await http.send(request)
    } catch {
      throw redaction.clean(error)
    }
  }

  /// What an answer without success means. A redirect away, or 511 (RFC 6585 section 6), is the
  /// doing of a network that wants a login first.
  private static func failure(of response: HTTPResponse) -> LinkFailure {
    if isLoginPage(response) { return .captivePortal }
    return .http(
      status: response.status, retryAfter: response.retryAfter,
      detail: Envelope.decodeNote(response.body) ?? "")
  }

  private static func isLoginPage(_ response: HTTPResponse) -> Bool {
    LinkFailure.isLoginPage(
      status: response.status, contentType: response.headers["content-type"])
  }

  private static func refuseLoginPage(_ response: HTTPResponse) throws(LinkFailure) {
    if isLoginPage(response) { throw .captivePortal }
  }
}
