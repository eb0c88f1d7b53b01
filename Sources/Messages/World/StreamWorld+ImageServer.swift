import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerParts
import HoldfastUploads
import HoldfastWorldKernel

/// The server's actual rules of images, and the files of incomplete uploads.
struct ImageBackend: Sendable {
  /// The server's address as the phone uses it.
  static let origin = "http://shop.example"

  /// The file of an incomplete upload.
  struct File: Sendable {
    var record: UploadRecord
    var bytes: [UInt8]
    /// The time at which the last bytes arrived.
    var changedAt: Instant
  }

  var rules = ImageServer(at: .zero)
  var files: [UUID128: File] = [:]
  /// The images that were reported last.
  var reported: [StoredImage] = []
  /// The index of the planned event that kills the server after it stored the next image.
  var deadlyImage: Int?
  /// The index of the planned event that kills the server when the next message with an image
  /// arrives.
  var deadlyPost: Int?
  /// Whether the next bytes of an image arrive in part.
  var isNextCut = false
  /// The images that the user's other devices uploaded, with the indices of their planned events.
  var elsewhere: [MessageID: Int] = [:]
}

// The server: its rules of images, with contents that nobody reads.
extension StreamWorld {
  mutating func bootImages(_ policy: ShopServerPolicy) {
    backend.images.rules = ImageServer(policy: policy, at: now)
    let stored = backend.images.files.map { id, file in
      StoredUpload(
        id: id, record: file.record, offset: file.bytes.count,
        age: file.changedAt.duration(to: now))
    }
    feedImages(.restored(stored))
  }

  mutating func feedImages(_ input: ImageServer.Input) {
    let effects = backend.images.rules.handle(input, at: now)
    kernel.examine(&backend.images.rules)
    perform(effects)
  }

  mutating func tickImages() {
    let effects = backend.images.rules.tick(at: now)
    kernel.examine(&backend.images.rules)
    perform(effects)
  }

  private mutating func perform(_ effects: [ImageServer.Effect]) {
    for effect in effects where isServerRunning {
      switch effect {
      case .answer(let id, let response): answer(id.number, reply(response))
      case .upload(.forget(let id)): backend.images.files[id] = nil
      case .store, .find, .open, .delete, .clean, .upload(.write), .upload(.finish):
        let delay = kernel.hosts[server.slot].conditions.storeDelay
        kernel.later(.imageWork(effect), on: server, after: delay)
      // Bodies arrive at once, and the disk is large.
      case .upload(.inform), .upload(.interrupt), .upload(.measure), .finished: continue
      }
    }
  }

  private func reply(_ answer: ImageAnswer) -> StreamFeature.Reply {
    var headers: [String: String] = [:]
    for field in answer.fields { headers[field.name.lowercased()] = field.value }
    let wait = headers["retry-after"].flatMap { Int64($0) }
    return StreamFeature.Reply(
      status: answer.status, retryAfter: wait.map { .seconds($0) }, bytes: answer.body,
      headers: headers)
  }

  // Requests.

  mutating func imageRequestArrived(
    _ id: TrafficID, _ request: UploadRequest, _ token: StreamToken
  ) {
    guard let (route, query) = request.target else { return answer(id, refusal(404)) }
    let candidate = UUID128.random(using: &kernel.hosts[server.slot].generator)
    var fields = ["content-length": "\(request.body.count)"]
    for field in request.fields { fields[field.name.lowercased()] = field.value }
    var call = ImageCall(
      request.method, route, origin: ImageBackend.origin, body: request.body
    ) {
      fields[$0]
    } query: {
      query[$0]
    } candidate: {
      candidate
    }
    let credential = credential(of: token)
    guard backend.images.isNextCut, request.body.count > 1 else {
      return feedImages(.request(RequestID(id), call, credential, wall: serverWall))
    }
    backend.images.isNextCut = false
    feedImages(.announced(RequestID(id), call, credential, wall: serverWall))
    call.body = Array(call.body.prefix(call.body.count / 2))
    feedImages(.cut(RequestID(id), call))
    if let index = exchange(id) { cut(kernel.exchanges[index]) }
  }

  /// Kills the server, if it is to die when a message with an image arrives. Returns whether it
  /// died.
  mutating func diesOfImage(_ entry: OutboxEntry) -> Bool {
    guard entry.image != nil, let index = backend.images.deadlyPost else { return false }
    backend.images.deadlyPost = nil
    stopServer(for: index)
    return true
  }

  private mutating func stopServer(for index: Int) {
    stop(server, for: index)
    kernel.add(.ends(index), after: kernel.plan.events[index].event.span)
  }

  // The log and the files.

  /// Carries out work of the rules, and reports its outcome.
  mutating func carryOut(_ effect: ImageServer.Effect) {
    guard let (token, outcome) = outcome(of: effect) else { return }
    noteImages()
    if case .stored = outcome, let index = backend.images.deadlyImage {
      backend.images.deadlyImage = nil
      stopServer(for: index)
    } else {
      feedImages(.done(token, outcome))
    }
  }

  private mutating func outcome(
    of effect: ImageServer.Effect
  ) -> (StoreToken, ImageOutcome)? {
    let isFull = kernel.hosts[server.slot].conditions.disk == .full
    let full = StoreFailure.full(detail: "no space left")
    let isLocked = kernel.hosts[server.slot].conditions.disk == .locked
    let locked = ImageOutcome.failed(.locked(detail: "the log is locked"))
    switch effect {
    case .store(let token, let id, let shop, let user, let type, let bytes):
      guard !isLocked, !isFull else { return (token, isFull ? .failed(full) : locked) }
      return (token, keep(id, shop, user, type, bytes.count))
    case .upload(.write(let token, let id, let record, let offset, let bytes)):
      guard !isLocked, !isFull else { return (token, isFull ? .failed(full) : locked) }
      return (token, .written(write(bytes, to: id, record, at: offset)))
    case .upload(.finish(let token, let id, let record, let offset, let bytes)):
      guard !isLocked, !isFull else {
        return (token, .unfinished(offset, isFull ? full : .locked(detail: "the log is locked")))
      }
      return (token, finish(bytes, of: id, record, at: offset))
    case .find(let token, let id):
      return (token, isLocked ? locked : .found(backend.log.images[id]))
    case .open(let token, let image, _):
      return (token, .content(backend.log.images[image.id] == nil ? .missing : .ready))
    case .delete(let token, let id):
      backend.log.deleteImage(id)
      return (token, .deleted)
    case .clean(let token, let age):
      guard !isLocked else { return (token, locked) }
      backend.log.deleteUnclaimedImages(before: serverWall.advanced(by: .zero - age))
      return (token, isFull ? .failed(full) : .cleaned)
    case .upload, .answer, .finished: return nil
    }
  }

  /// Writes bytes to the file of an upload. Returns the size of the file.
  private mutating func write(
    _ bytes: [UInt8], to id: UUID128, _ record: UploadRecord, at offset: Int
  ) -> Int {
    let earlier = backend.images.files[id]?.bytes.prefix(offset) ?? []
    let whole = Array(earlier) + bytes
    backend.images.files[id] = ImageBackend.File(record: record, bytes: whole, changedAt: now)
    return whole.count
  }

  private mutating func finish(
    _ bytes: [UInt8], of id: UUID128, _ record: UploadRecord, at offset: Int
  ) -> ImageOutcome {
    let size = write(bytes, to: id, record, at: offset)
    let content = backend.images.files[id]?.bytes ?? []
    guard let type = ImageType(content: content) else { return .unknownType }
    return keep(id, shop, record.user, type, size)
  }

  private mutating func keep(
    _ id: MessageID, _ shop: ShopID, _ user: String, _ type: ImageType, _ size: Int
  ) -> ImageOutcome {
    let image = StoredImage(
      id: id, shop: shop, user: user, type: type, size: size, createdAt: serverWall)
    guard backend.log.addImage(image, atMost: ImageServer.mostUnclaimed) else {
      let age = backend.log.images.oldestUnclaimed(of: user)?.duration(to: serverWall) ?? .zero
      return .tooMany(wait: max(.zero, ImageServer.unclaimedAge - age))
    }
    return .stored(backend.log.images[id] ?? image)
  }

  /// Reports the images if they have changed.
  mutating func noteImages() {
    let images = backend.log.images.all
    guard images != backend.images.reported else { return }
    backend.images.reported = images
    note(.images(images))
  }

  // The user's other devices.

  /// Uploads images on other devices, which no message claims.
  mutating func uploadElsewhere(_ count: Int, _ index: Int) {
    for _ in 0..<max(0, count) {
      let id = MessageID.random(using: &kernel.hosts[server.slot].generator)
      let image = StoredImage(
        id: id, shop: shop, user: "me", type: .png, size: 100, createdAt: serverWall)
      guard backend.log.addImage(image, atMost: ImageServer.mostUnclaimed) else { break }
      backend.images.elsewhere[id] = index
    }
    noteImages()
  }

  mutating func deleteElsewhere(of index: Int) {
    for (id, event) in backend.images.elsewhere where event == index {
      backend.log.deleteImage(id)
      backend.images.elsewhere[id] = nil
    }
    noteImages()
  }
}

extension UploadRequest {
  /// The route and the query of the URL; `nil` if it is not one of images.
  fileprivate var target: (route: ImageCall.Route, query: [String: String])? {
    let origin = ImageBackend.origin
    let rest = url.hasPrefix(origin) ? url.dropFirst(origin.count) : url[...]
    let parts = rest.split(separator: "?", maxSplits: 1)
    var query: [String: String] = [:]
    for item in parts.dropFirst().first?.split(separator: "&") ?? [] {
      let pair = item.split(separator: "=", maxSplits: 1)
      if let name = pair.first, let value = pair.last { query[String(name)] = String(value) }
    }
    switch ImageRoute(path: String(parts.first ?? "")) {
    case .upload?: return (.upload, query)
    case .image(let id)?: return (.image(id), query)
    case nil: return nil
    }
  }
}
