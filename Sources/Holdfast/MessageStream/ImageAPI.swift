import HoldfastSocket
import HoldfastCore
import HoldfastPorts
import HoldfastStorage
import HoldfastWire

/// A client of a server's images.
struct ImageAPI: Sendable {
  let server: String
  let rest: RestCaller

  /// The number of bytes of a body that add a second to the time limit of an exchange.
  private static let rate = 16_384
  /// The time limit of an exchange without a body.
  private static let timeout = Duration.seconds(30)
  /// The maximum size of an answer that contains no image.
  private static let maxBodyBytes = 1 << 20

  /// Returns the URL to which the images of a shop are uploaded.
  func upload(to shop: ShopID) -> String {
    "\(ServerURL.http(server, ImageRoute.upload.path))?shop_id=\(shop)"
  }

  /// Returns the URL of an image.
  func url(of id: MessageID) -> String { ServerURL.http(server, ImageRoute.image(id).path) }

  /// Sends a request of an upload, and returns the answer, regardless of its status.
  func answer(to request: UploadRequest) async throws(LinkFailure) -> UploadAnswer {
    let call = HTTPCall(
      method: request.method, url: request.url,
      headers: request.fields.map { (name: $0.name, value: $0.value) }, body: request.body,
      timeout: Self.timeout + .seconds(request.body.count / Self.rate),
      maxBodyBytes: Self.maxBodyBytes)
    let (answer, redaction) = try await rest.exchange(call)
    try answer.refusePage(from: request.url, redaction, note: rest.note)
    return UploadAnswer(
      answer.status, answer.headers, answer.body, answer.failure(redaction, note: rest.note)
    ) { _ in true }
  }

  /// Returns whether the server has an image that the user may see.
  func has(_ id: MessageID) async throws(LinkFailure) -> Bool {
    let call = request("HEAD", id, answering: Self.maxBodyBytes)
    let (answer, redaction) = try await rest.exchange(call)
    try answer.refusePage(from: call.url, redaction, note: rest.note)
    switch answer.status {
    case 200..<300: return true
    case 404, 410: return false
    case _: throw answer.failure(redaction, note: rest.note)
    }
  }

  /// Returns the bytes of an image.
  func bytes(of id: MessageID) async throws(LinkFailure) -> [UInt8] {
    let call = request("GET", id, answering: ShopImage.mostBytes)
    return try await rest.call(call, accepting: 200...200, "the image") { bytes in bytes }
  }

  private func request(_ method: String, _ id: MessageID, answering bytes: Int) -> HTTPCall {
    HTTPCall(
      method: method, url: url(of: id),
      timeout: Self.timeout + .seconds(bytes / Self.rate), maxBodyBytes: bytes)
  }
}

extension ShopStreams {
  /// Returns the bytes of an image. No stream needs to be open.
  ///
  /// - Parameter configuration: The server. Its shop is not used.
  package func image(
    _ id: MessageID, of configuration: StreamConfiguration
  ) async throws(LinkFailure) -> [UInt8] {
    let vault = TokenVault(
      tokens, limit: configuration.policy.gate.refreshTimeout, clock: ports.clock
    ) { _, _ in }
    let credentials = RequestCredentials.vault(vault, configuration.authentication.placement)
    let api = ShopAPI(configuration, network, credentials)
    do throws(LinkFailure) {
      let bytes = try await api.images.bytes(of: id)
      await vault.end()
      return bytes
    } catch {
      await vault.end()
      throw error
    }
  }
}
