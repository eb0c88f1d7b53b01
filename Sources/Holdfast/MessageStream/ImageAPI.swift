import HoldfastCore
import HoldfastMessageData
import HoldfastPorts
import HoldfastSocket
import HoldfastUploads

/// A client of a server's images.
struct ImageAPI: Sendable {
  let server: String
  let rest: RestCaller

  /// The number of bytes of a body that add a second to the time limit of an exchange.
  private static let rate = 16_384
  /// The maximum size of a piece of a download, in bytes.
  static let piece = 512 << 10
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
    let (answer, redaction) = try await answer(to: call)
    return UploadAnswer(
      answer.status, answer.headers, answer.body, answer.failure(redaction, note: rest.note)
    ) { _ in true }
  }

  /// Returns whether the server has an image that the user may see.
  func has(_ id: MessageID) async throws(LinkFailure) -> Bool {
    let (answer, redaction) = try await answer(to: request("HEAD", id))
    switch answer.status {
    case 200..<300: return true
    case 404, 410: return false
    case _: throw answer.failure(redaction, note: rest.note)
    }
  }

  /// Deletes an image. One that the server does not have, or does not let the user delete, counts as
  /// deleted.
  func delete(_ id: MessageID, of shop: ShopID) async throws(LinkFailure) {
    var call = request("DELETE", id)
    call.query = [("shop_id", shop.text)]
    let (answer, redaction) = try await answer(to: call)
    guard UploadReply.isTransient(answer.status) else { return }
    throw answer.failure(redaction, note: rest.note)
  }

  /// Returns the bytes of an image. A server that supports ranges sends it in pieces.
  ///
  /// - Parameter progress: A closure that receives the number of bytes so far, and that of all bytes.
  func bytes(
    of id: MessageID, progress: @Sendable (_ received: Int, _ size: Int) -> Void = { _, _ in }
  ) async throws(LinkFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      var call = request("GET", id, answering: ShopImage.mostBytes)
      call.headers = [("Range", "bytes=\(bytes.count)-\(bytes.count + Self.piece - 1)")]
      let (answer, redaction) = try await answer(to: call)
      switch answer.status {
      case 200: return answer.body
      case 206:
        guard let size = answer.sizeOfWhole(from: bytes.count) else {
          throw .protocolError(detail: "the image could not be read: it is another part of it")
        }
        bytes += answer.body
        progress(bytes.count, size)
        if bytes.count == size { return bytes }
      case _: throw answer.failure(redaction, note: rest.note)
      }
    }
  }

  private func answer(to call: HTTPCall) async throws(LinkFailure) -> (HTTPAnswer, Redaction) {
    let (answer, redaction) = try await rest.exchange(call)
    try answer.refusePage(from: call.url, redaction, note: rest.note)
    return (answer, redaction)
  }

  private func request(
    _ method: String, _ id: MessageID, answering bytes: Int = maxBodyBytes
  ) -> HTTPCall {
    HTTPCall(
      method: method, url: url(of: id),
      timeout: Self.timeout + .seconds(bytes / Self.rate), maxBodyBytes: bytes)
  }
}

extension HTTPAnswer {
  /// Returns the size of an image of which the body is the part from an offset (RFC 9110 section
  /// 14.4); `nil` if it is another part.
  fileprivate func sizeOfWhole(from offset: Int) -> Int? {
    guard let range = headers["content-range"], range.hasPrefix("bytes "), !body.isEmpty else {
      return nil
    }
    let parts = range.dropFirst("bytes ".count).split(separator: "/")
    let end = offset + body.count
    guard parts.count == 2, parts[0] == "\(offset)-\(end - 1)", let size = Int(parts[1]),
      end <= size, size <= ShopImage.mostBytes
    else { return nil }
    return size
  }
}

extension ShopStreams {
  /// Returns the bytes of an image. No stream needs to be open.
  ///
  /// - Parameters:
  ///   - configuration: The server. Its shop is not used.
  ///   - progress: A closure that receives the number of bytes so far, and that of all bytes.
  package func image(
    _ id: MessageID, of configuration: StreamConfiguration,
    progress: @Sendable (_ received: Int, _ size: Int) -> Void = { _, _ in }
  ) async throws(LinkFailure) -> [UInt8] {
    let vault = TokenVault(
      tokens, limit: configuration.policy.gate.refreshTimeout, clock: ports.clock
    ) { _, _ in }
    let credentials = RequestCredentials.vault(vault, configuration.authentication.placement)
    let api = ShopAPI(configuration, network, credentials)
    do throws(LinkFailure) {
      let bytes = try await api.images.bytes(of: id, progress: progress)
      await vault.end()
      return bytes
    } catch {
      await vault.end()
      throw error
    }
  }
}
