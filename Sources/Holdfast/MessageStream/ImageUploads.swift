import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastUploads

/// The uploads of the images in an outbox.
///
/// `UploadTry` decides which requests are sent. An upload that was interrupted resumes, also in a
/// later process. To a server that does not offer that, an image is sent as a form, as the original
/// protocol demands.
actor ImageUploads {
  private let api: ImageAPI
  private let images: OutboxImages
  private let shop: ShopID
  private let clock: any LinkClock
  nonisolated let progress = ImageProgressFeed()
  private var isDeleting = false
  private var support = UploadSupport(takesGzip: false)

  init(_ api: ImageAPI, _ images: OutboxImages, of shop: ShopID, clock: any LinkClock) {
    (self.api, self.images, self.shop, self.clock) = (api, images, shop, clock)
  }

  /// Uploads the image of an entry. If it has a URL, uploads it only if the server does not have it
  /// any more.
  ///
  /// The upload of a discarded entry ends after its current request.
  ///
  /// - Returns: The result; `nil` if the task was cancelled or the entry discarded.
  func upload(_ entry: OutboxEntry, _ number: TryID) async -> StreamModel.Input? {
    let result = await result(of: entry, number)
    if case .uploaded(_, let url, _) = result {
      images.noteUploaded(entry.id, url: url)
      if !images.isKnown(entry.id) { await deleteAbandoned() }
    }
    return result
  }

  private func result(of entry: OutboxEntry, _ number: TryID) async -> StreamModel.Input? {
    guard let image = entry.image else { return nil }
    let started = clock.wall
    do throws(LinkFailure) {
      if let url = image.url, try await isStored(url) {
        return .uploaded(entry.id, url: url, at: image.uploadedAt ?? started)
      }
      let content = try bytes(of: entry)
      guard let content else {
        return refused(entry, number, "the image is no longer on this device")
      }
      if let url = try await completed(entry.id) {
        images.change(.forget, of: entry.id)
        return .uploaded(entry.id, url: url, at: started)
      }
      guard let answer = try await send(content, image.type, of: entry.id) else { return nil }
      return try uploaded(entry, number, image.type, answer, at: started)
    } catch {
      return .postFailed(entry.id, try: number, error)
    }
  }

  /// Returns the result of an upload that the server accepted with an answer.
  ///
  /// - Throws: An error if the answer ends too early or is malformed. The attempt is then repeated, as
  ///   after an answer that was lost.
  private func uploaded(
    _ entry: OutboxEntry, _ number: TryID, _ type: ImageType, _ answer: UploadAnswer,
    at started: Timestamp
  ) throws(LinkFailure) -> StreamModel.Input {
    do throws(MessageError) {
      let uploaded = try Envelope.decodeImage(answer.body, shop: shop, sent: type)
      images.change(.forget, of: entry.id)
      return .uploaded(entry.id, url: uploaded.url, at: started)
    } catch {
      // Without the id of the image, the next attempt begins with a new upload.
      if images.storedImage(entry.id) == nil { images.change(.forget, of: entry.id) }
      let reason = "the answer to the image could not be read: \(error)"
      if case .malformed = error { throw .protocolError(detail: reason) }
      return refused(entry, number, reason)
    }
  }

  private func refused(
    _ entry: OutboxEntry, _ number: TryID, _ reason: String
  ) -> StreamModel.Input {
    .uploadRefused(entry.id, try: number, reason: reason)
  }

  /// Returns whether the server has an image. That of another server counts as stored.
  private func isStored(_ url: String) async throws(LinkFailure) -> Bool {
    guard let id = ShopImage.id(in: url) else { return true }
    return try await api.has(id)
  }

  /// Returns the URL of an image whose upload was complete when its last answer was lost; `nil` if the
  /// upload goes on.
  ///
  /// On a server of this package, the id of an upload becomes that of the image.
  private func completed(_ id: UUID128) async throws(LinkFailure) -> String? {
    guard let image = images.storedImage(id), try await api.has(image) else { return nil }
    return api.url(of: image)
  }

  private func bytes(of entry: OutboxEntry) throws(LinkFailure) -> [UInt8]? {
    do throws(StoreFailure) {
      return try images.bytes(of: entry.id)
    } catch {
      // The file may become readable later.
      throw .local(detail: error.description)
    }
  }

  /// Sends the requests of one attempt. Returns the answer to the whole image; `nil` if the task was
  /// cancelled.
  private func send(
    _ bytes: [UInt8], _ type: ImageType, of id: UUID128
  ) async throws(LinkFailure) -> UploadAnswer? {
    var upload = UploadTry(
      bytes, to: api.upload(to: shop), type: type.mediaType, form: form(bytes, type),
      ticket: images.ticket(of: id), resumesFrom: ResumableUpload.usualLeast, support)
    while true {
      let input: UploadTry.Input
      switch upload.step {
      case .compress: input = .compressed(nil)  // images are compressed already
      case .send(let request):
        report(upload, request, of: id, bytes.count)
        input = await result(of: request)
      case .ended(.accepted, _): return upload.answer
      case .ended(.failed(let failure), _): throw failure
      case .ended(.unreadable(let detail), _): throw .local(detail: detail)
      }
      guard !Task.isCancelled else { return nil }
      let change = upload.take(input, &support)
      // The ticket of a complete upload is needed until its answer has been read.
      guard !upload.isAccepted else { continue }
      guard images.isKnown(id) else { return nil }
      if let change { images.change(change, of: id) }
    }
  }

  /// Deletes the images on the server that discarded entries left there, until a deletion fails.
  func deleteAbandoned() async {
    guard !isDeleting else { return }
    isDeleting = true
    defer { isDeleting = false }
    while let image = images.abandoned.first, !Task.isCancelled {
      do throws(LinkFailure) {
        try await api.delete(image, of: shop)
      } catch {
        return
      }
      images.noteDeleted(image)
    }
  }

  /// Reports how much of an image was sent before a request.
  private func report(_ upload: UploadTry, _ request: UploadRequest, of id: UUID128, _ size: Int) {
    switch upload.piece {
    case .append(_, let from, let count, _)?:
      progress.report(.init(entry: id, sent: from, pending: count, size: size))
    case nil where !request.body.isEmpty:
      progress.report(.init(entry: id, sent: 0, pending: size, size: size))
    case .create?, .offset?, .whole?, .ended?, nil: return
    }
  }

  private func result(of request: UploadRequest) async -> UploadTry.Input {
    do throws(LinkFailure) {
      return .answer(try await api.answer(to: request))
    } catch {
      return .failed(error)
    }
  }

  /// Returns the form with which the original protocol uploads an image (RFC 7578).
  private func form(_ bytes: [UInt8], _ type: ImageType) -> UploadForm {
    let boundary = "holdfast-\(UUID128.random())"
    let head = """
      --\(boundary)\r
      Content-Disposition: form-data; name="shop_id"\r
      \r
      \(shop)\r
      --\(boundary)\r
      Content-Disposition: form-data; name="file"; filename="image.\(type.rawValue)"\r
      Content-Type: \(type.mediaType)\r
      \r

      """
    return UploadForm(
      type: "multipart/form-data; boundary=\(boundary)",
      body: Array(head.utf8) + bytes + Array("\r\n--\(boundary)--\r\n".utf8))
  }
}
