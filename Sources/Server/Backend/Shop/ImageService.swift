import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// The service of the images of messages.
struct ImageService: UploadService {
  typealias Context = ServiceContext<ImageService>

  var rules: ImageServer
  /// The log of messages, which the service of messages closes.
  let store: any MessageLog
  let files: any ImageContents
  let uploads: UploadFiles
  let tokens: TokenAuthority
  /// The files of earlier processes that may be those of no image.
  let leftovers = Provided<[String]>()
  /// The queue for downloads, which thus do not wait until an upload is durable.
  let downloads = FileQueue(label: "holdfast.images.downloads")
  let first: ImageServer.Input?
  /// The origin in the addresses of images, or `nil` for the one that the request names.
  let origin: String?
  /// Whether the backend itself uses TLS.
  let isSecure: Bool
  let proxies: TrustedProxies

  /// Returns zero, because the service has no sockets.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int { 0 }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> ImageService {
    let configuration = setup.configuration
    guard let store = setup.messages.value else { throw .store(.unanswered) }
    let files = setup.images
    let uploads = UploadFiles(
      at: "\(configuration.dataDirectory)/image-uploads", maxBytes: ShopImage.mostBytes,
      maxUserBytes: 256)
    let unfinished = uploads.stored(at: BootClock().wall)
    let removed = Set(try RemovalsFile(directory: configuration.dataDirectory).read())
    let service = ImageService(
      rules: ImageServer(
        policy: configuration.policy, removed: removed.sorted(), at: BootClock().now),
      store: store, files: files, uploads: uploads, tokens: try setup.authority(),
      first: .restored(unfinished), origin: configuration.publicURL?.description,
      isSecure: configuration.certificate != nil, proxies: configuration.proxies)
    service.leftovers.provide(files.leftovers)
    return service
  }

  var port: (any HoldfastPorts.SuspendableStore)? { nil }

  mutating func read(
    _ event: ServiceEvent<ImageRoute>, _ context: inout Context
  ) -> ImageServer.Input? {
    switch event {
    case .request(let id, let route, let head, let body):
      let call = call(id, route, head, body, context)
      let credential = tokens.credential(of: head)
      context.describe(id, route: call.name, [("user", credential.user), ("shop", call.room)])
      return measured(
        .request(id, call, credential, wall: BootClock().wall), head.method, &context)
    case .announced(let id, let route, let head):
      return .announced(
        id, call(id, route, head, [], context), tokens.credential(of: head), wall: BootClock().wall)
    case .cut(let id, let route, let head, let body):
      return measured(.cut(id, call(id, route, head, body, context)), head.method, &context)
    case .abandoned(let id): return .abandoned(id)
    case .upgrade, .received, .text, .binary, .overflow, .drained, .closed: return nil
    }
  }

  /// Creates a call from the parts of a request that the rules use.
  private func call(
    _ id: RequestID, _ route: ImageRoute, _ head: HTTPRequestHead, _ body: [UInt8],
    _ context: Context
  ) -> ImageCall {
    let peer = context.hub.connection(of: id).flatMap { context.hub.peerAddress(of: $0) }
    let place: ImageCall.Route =
      switch route {
      case .upload: .upload
      case .image(let id): .image(id)
      }
    return ImageCall(head.method, place, origin: origin(of: head, from: peer), body: body) {
      head.first($0)
    } query: {
      head.firstQuery($0)
    } candidate: {
      .random()
    }
  }

  /// Returns the origin with which the addresses of images begin. A trusted proxy says whether it
  /// was reached by TLS.
  private func origin(of head: HTTPRequestHead, from peer: NetworkAddress?) -> String {
    if let origin { return origin }
    let isBehindTLS =
      head.first("x-forwarded-proto")?.lowercased() == "https"
      && peer.map(proxies.contains) == true
    let scheme = isSecure || isBehindTLS ? "https" : "http"
    let named = "\(scheme)://\(head.first("host") ?? "")"
    // The address has to fit into a reference.
    return ImageReference.isAddress("\(named)\(ImageRoute.upload.path)")
      ? named : "\(scheme)://localhost"
  }

  mutating func perform(_ effect: ImageServer.Effect, _ context: inout Context) {
    switch effect {
    case .answer(let id, let answer):
      context.respond(
        id, answer.status, answer.fields.map { ($0.name, $0.value) }, answer.body,
        file: answer.content == nil ? nil : context.file)
    case .store, .find, .open, .delete, .clean: use(effect, &context)
    case .upload(let effect): perform(effect, &context)
    case .finished: break
    }
  }

  /// Carries out an effect that concerns stored images.
  private mutating func use(_ effect: ImageServer.Effect, _ context: inout Context) {
    let (store, files, uploads, leftovers) = (store, files, uploads, leftovers)
    switch effect {
    case .store(let token, let id, let shop, let user, let type, let bytes):
      run(token, context, on: uploads.queue) { () throws(StoreFailure) in
        let image = StoredImage(
          id: id, shop: shop, user: user, type: type, size: bytes.count,
          createdAt: BootClock().wall)
        return try await Self.keep(image, bytes, in: store, files)
      }
    case .find(let token, let id):
      run(token, context) { () throws(StoreFailure) in .found(try await store.image(id)) }
    case .open(let token, let image, let part):
      context.start(on: downloads) { await Self.opened(token, files, image, part) }
    case .delete(let token, let id):
      run(token, context, on: uploads.queue) { () throws(StoreFailure) in
        try await store.deleteImage(id)
        try await files.remove([id], deletedFrom: store)
        return .deleted
      }
    case .clean(let token, let age):
      context.start(on: uploads.queue) {
        // The removal of old images may free the space that is missing.
        let unwritable = await Self.failure(of: files, uploads)
        let failure = await Self.clean(files, leftovers, of: store, age: age)
        guard let unwritable else {
          return Stored(input: .done(token, .cleaned), failure: failure)
        }
        return Stored(input: .done(token, .failed(unwritable)), failure: unwritable)
      }
    case .upload, .answer, .finished: break
    }
  }

  /// Opens the file of an image. A file that cannot be used concerns its image alone.
  private static func opened(
    _ token: StoreToken, _ files: any ImageContents, _ image: StoredImage, _ part: Range<Int>
  ) async -> Stored<ImageServer.Input> {
    do throws(StoreFailure) {
      let file = try await files.open(image, part)
      return Stored(
        input: .done(token, .content(file == nil ? .missing : .ready)), file: file)
    } catch {
      return Stored(input: .done(token, .content(.damaged)), failure: error)
    }
  }

  /// Removes old unclaimed images and the files of no image. Returns the first failure; what it
  /// concerns is tried again with the next cleaning.
  private static func clean(
    _ files: any ImageContents, _ leftovers: Provided<[String]>, of store: any MessageLog,
    age: Duration
  ) async -> StoreFailure? {
    let now = BootClock().wall
    var failure: StoreFailure?
    func attempt(_ step: () async throws(StoreFailure) -> Void) async {
      do throws(StoreFailure) { try await step() } catch { failure = failure ?? error }
    }
    await attempt { () throws(StoreFailure) in
      try await store.deleteUnclaimedImages(before: now.advanced(by: .zero - age))
    }
    await attempt { () throws(StoreFailure) in try await files.removeDeleted(of: store) }
    await attempt { () throws(StoreFailure) in
      leftovers.provide(
        try await files.remove(leftovers.value ?? [], unlessKnownTo: store, at: now))
    }
    return failure
  }

  /// Returns the reason why images or uploads cannot be written; `nil` if they can.
  private static func failure(
    of files: any ImageContents, _ uploads: UploadFiles
  ) async -> StoreFailure? {
    do throws(StoreFailure) {
      try await files.check()
      try uploads.check()
      return nil
    } catch {
      return error
    }
  }

  func finish(
    _ id: UUID128, _ record: UploadRecord, _ content: [UInt8]
  ) async throws(StoreFailure) -> ImageOutcome {
    guard let type = ImageType(content: content), let shop = record.target.flatMap({ ShopID($0) })
    else { return .unknownType }
    let image = StoredImage(
      id: id, shop: shop, user: record.user, type: type, size: content.count,
      createdAt: BootClock().wall)
    return try await Self.keep(image, content, in: store, files)
  }

  /// Stores an image and its content. If that fails, no file remains.
  private static func keep(
    _ image: StoredImage, _ content: [UInt8], in store: any MessageLog,
    _ files: any ImageContents
  ) async throws(StoreFailure) -> ImageOutcome {
    // An upload whose last answer was lost may be completed again.
    if let known = try await store.image(image.id) { return .stored(known) }
    try await files.write(content, of: image.id)
    do throws(StoreFailure) {
      if try await store.addImage(image, atMost: ImageServer.mostUnclaimed) {
        return .stored(image)
      }
    } catch {
      _ = await files.remove([image.id])
      throw error
    }
    if let failure = await files.remove([image.id]).failure { throw failure }
    let oldest = try await store.oldestUnclaimedImage(of: image.user)
    let age = oldest.map { $0.duration(to: BootClock().wall) } ?? ImageServer.unclaimedAge
    return .tooMany(wait: max(.zero, ImageServer.unclaimedAge - age))
  }
}

extension ImageRoute: ServiceRoute {
  /// A form is longer than the image in it.
  static let maxBodyBytes = [Self.upload.path: ShopImage.mostBytes + 65_536]
  static let announced: Set = [Self.upload.path]

  var name: String {
    switch self {
    case .upload: "image_upload"
    case .image: "image"
    }
  }

  var takesHead: Bool { true }
  var takesCompressed: Bool { true }
}

extension ImageCall {
  /// The shop that the request names, for the log.
  fileprivate var room: String? { shop.flatMap { ShopID($0) }?.text }
}
