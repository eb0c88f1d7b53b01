import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastUploads
import HoldfastWorldKernel

/// The images of a phone's outbox, and the attempts to upload them.
struct PhoneImages: Sendable {
  /// An attempt to upload the image of an entry.
  struct Attempt: Sendable {
    enum Stage: Sendable {
      /// The server is asked whether it has the image of the entry's URL.
      case findsURL(String)
      /// The server is asked whether it has the image that an interrupted upload has created.
      case findsUpload(String)
      case sends(UploadTry)
    }

    var entry: OutboxEntry
    var number: TryID
    var startedAt: Timestamp
    var stage: Stage
    /// The number of the request under way.
    var request: UInt64
  }

  /// The stored images, by entry.
  var contents: [UUID128: [UInt8]] = [:]
  /// The stored tickets of interrupted uploads, by entry.
  var tickets: [UUID128: UploadTicket] = [:]
  private(set) var attempts: [UUID128: Attempt] = [:]
  var support = UploadSupport(takesGzip: false)
  private var lastRequest: UInt64 = 0

  /// The minimum size of an image that is uploaded in pieces.
  static let resumesFrom = 300

  /// Resets the state for a new run of the process.
  mutating func launch() {
    attempts = [:]
    support = UploadSupport(takesGzip: false)
  }

  /// Begins a stage of an attempt, and returns the number of its request.
  mutating func begin(
    _ stage: Attempt.Stage, of entry: OutboxEntry, _ number: TryID, at start: Timestamp
  ) -> UInt64 {
    lastRequest += 1
    attempts[entry.id] = Attempt(
      entry: entry, number: number, startedAt: start, stage: stage, request: lastRequest)
    return lastRequest
  }

  mutating func end(_ id: UUID128) { attempts[id] = nil }

  /// Removes the image of an entry that left the outbox.
  mutating func remove(_ id: UUID128) {
    (contents[id], tickets[id], attempts[id]) = (nil, nil, nil)
  }

  mutating func carryOut(_ change: UploadTry.TicketChange?, of id: UUID128) {
    switch change {
    case .store(let ticket)?: tickets[id] = ticket
    case .forget?: tickets[id] = nil
    case nil: return
    }
  }
}

// The phone: its user, and the uploads that the model asks for.
extension StreamWorld {
  private static func url(of id: MessageID) -> String {
    ImageBackend.origin + ImageRoute.image(id).path
  }

  /// Sends a message with an image.
  mutating func sendImage() {
    phone.sent += 1
    let id = UUID128.random(using: &kernel.hosts[phoneID.slot].generator)
    let size = Int.random(in: 200...1_500, using: &kernel.hosts[phoneID.slot].generator)
    let head: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    let content = head + [UInt8](repeating: UInt8(phone.sent % 256), count: size)
    phone.images.contents[id] = content
    let image = OutboxImage(type: .png, size: content.count)
    give(
      .send(id: id, text: "own \(phone.sent)", parent: nil, at: phoneWall, image: image),
      to: phoneID)
  }

  /// Uploads the image of an entry. If it has a URL, uploads it only if the server does not have it
  /// any more.
  mutating func upload(_ entry: OutboxEntry, _ number: TryID) {
    guard let image = entry.image else { return }
    if let url = image.url {
      find(url, .findsURL(url), of: entry, number, at: phoneWall)
    } else {
      resumeUpload(of: entry, number, at: phoneWall)
    }
  }

  private mutating func find(
    _ url: String, _ stage: PhoneImages.Attempt.Stage, of entry: OutboxEntry, _ number: TryID,
    at start: Timestamp
  ) {
    let request = phone.images.begin(stage, of: entry, number, at: start)
    ask(.image(entry.id, request, UploadRequest("HEAD", url)))
  }

  /// Continues an upload. Its id becomes that of the image, so that a complete one can be found.
  private mutating func resumeUpload(
    of entry: OutboxEntry, _ number: TryID, at start: Timestamp
  ) {
    let id = phone.images.tickets[entry.id]?.url.split(separator: "?id=").last
    if let id = id.flatMap({ MessageID($0) }) {
      let url = Self.url(of: id)
      find(url, .findsUpload(url), of: entry, number, at: start)
    } else {
      send(entry, number, at: start)
    }
  }

  private mutating func send(_ entry: OutboxEntry, _ number: TryID, at start: Timestamp) {
    guard let content = phone.images.contents[entry.id], let image = entry.image else {
      let refusal = StreamModel.Input.uploadRefused(
        entry.id, try: number, reason: "the image is no longer on this device")
      return kernel.answerLater(.input(refusal), to: phoneID, after: .milliseconds(1))
    }
    let endpoint = "\(ImageBackend.origin)\(ImageRoute.upload.path)?shop_id=\(shop)"
    let upload = UploadTry(
      content, to: endpoint, type: image.type.mediaType, ticket: phone.images.tickets[entry.id],
      resumesFrom: PhoneImages.resumesFrom, phone.images.support)
    goOn(upload, of: entry, number, at: start)
  }

  /// Carries out the next step of an upload.
  private mutating func goOn(
    _ upload: UploadTry, of entry: OutboxEntry, _ number: TryID, at start: Timestamp
  ) {
    switch upload.step {
    case .send(let request):
      let id = phone.images.begin(.sends(upload), of: entry, number, at: start)
      ask(.image(entry.id, id, request))
    case .compress: take(.compressed(nil), upload, of: entry, number, at: start)
    case .ended(.accepted, _): accepted(upload, entry, number, at: start)
    case .ended(.failed(let failure), _): fail(entry.id, number, failure)
    case .ended(.unreadable(let detail), _): fail(entry.id, number, .local(detail: detail))
    }
  }

  private mutating func take(
    _ input: UploadTry.Input, _ earlier: UploadTry, of entry: OutboxEntry, _ number: TryID,
    at start: Timestamp
  ) {
    var upload = earlier
    let change = upload.take(input, &phone.images.support)
    // The ticket of a complete upload is needed until its answer was read.
    let isRead = if case .ended(.accepted, _) = upload.step { false } else { true }
    if isRead || change != .forget { phone.images.carryOut(change, of: entry.id) }
    goOn(upload, of: entry, number, at: start)
  }

  private mutating func accepted(
    _ upload: UploadTry, _ entry: OutboxEntry, _ number: TryID, at start: Timestamp
  ) {
    do throws(MessageError) {
      let image = try Envelope.decodeImage(upload.answer?.body ?? [], shop: shop, sent: .png)
      phone.images.tickets[entry.id] = nil
      end(.uploaded(entry.id, url: image.url, at: start), entry.id)
    } catch {
      fail(entry.id, number, .protocolError(detail: "the answer could not be read: \(error)"))
    }
  }

  private mutating func fail(_ id: UUID128, _ number: TryID, _ failure: LinkFailure) {
    end(.postFailed(id, try: number, failure), id)
  }

  private mutating func end(_ input: StreamModel.Input, _ id: UUID128) {
    phone.images.end(id)
    give(input, to: phoneID)
  }

  /// Handles the answer to a request about an image. Answers to earlier requests are ignored.
  mutating func imageAnswered(
    _ id: UUID128, _ request: UInt64, _ result: Result<StreamFeature.Reply, LinkFailure>
  ) {
    guard let attempt = phone.images.attempts[id], attempt.request == request else { return }
    let (entry, number, start) = (attempt.entry, attempt.number, attempt.startedAt)
    switch (attempt.stage, result) {
    case (.sends(let upload), .success(let reply)):
      let answer = UploadAnswer(reply.status, reply.headers, reply.bytes, reply.failure) { _ in
        true
      }
      take(.answer(answer), upload, of: entry, number, at: start)
    case (.sends(let upload), .failure(let failure)):
      take(.failed(failure), upload, of: entry, number, at: start)
    case (_, .failure(let failure)): fail(id, number, failure)
    case (.findsURL(let url), .success(let reply)) where reply.status == 200:
      end(.uploaded(id, url: url, at: entry.image?.uploadedAt ?? start), id)
    case (.findsURL, .success(let reply)) where reply.status == 404:
      resumeUpload(of: entry, number, at: start)
    case (.findsUpload(let url), .success(let reply)) where reply.status == 200:
      phone.images.tickets[id] = nil
      end(.uploaded(id, url: url, at: start), id)
    case (.findsUpload, .success(let reply)) where reply.status == 404:
      send(entry, number, at: start)
    case (.findsURL, .success(let reply)), (.findsUpload, .success(let reply)):
      fail(id, number, reply.failure)
    }
  }
}

extension StreamFeature.Reply {
  /// The failure that the response represents if it is not a success.
  var failure: LinkFailure {
    .http(
      status: status, retryAfter: retryAfter, detail: Envelope.decodeNote(bytes) ?? "")
  }
}
