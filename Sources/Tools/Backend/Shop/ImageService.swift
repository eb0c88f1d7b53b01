import HoldfastCore
import HoldfastFeaturePorts
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerCore
import HoldfastServerSockets
import HoldfastStorage
import HoldfastWire

/// The service of the images of messages.
struct ImageService: Service {
  typealias Context = ServiceContext<ImageService>
  typealias Done = Stored<ImageServer.Input>

  var rules: ImageServer
  /// The log of messages, which the service of messages closes.
  let store: any MessageLog
  let files: ImageFiles
  let uploads: UploadFiles
  let tokens: Tokens
  /// The files of the last run, which may be those of no image. Those that an unfinished upload may
  /// still complete are excluded.
  var leftovers: [String]
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
    let files = ImageFiles(in: configuration.dataDirectory)
    let uploads = UploadFiles(
      at: "\(configuration.dataDirectory)/image-uploads", maxBytes: ShopImage.mostBytes,
      maxUserBytes: 256)
    let unfinished = uploads.stored(at: BootClock().wall)
    let names = Set(unfinished.map(\.id.description))
    let removed = Set(try RemovalsFile(directory: configuration.dataDirectory).read())
    return ImageService(
      rules: ImageServer(
        policy: configuration.policy, removed: removed.sorted(), at: BootClock().now),
      store: store, files: files, uploads: uploads, tokens: try Tokens.open(for: configuration),
      leftovers: files.names.filter { !names.contains($0) }, first: .restored(unfinished),
      origin: configuration.publicURL?.description,
      isSecure: configuration.certificate != nil, proxies: configuration.proxies)
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
      return .request(id, call, credential, wall: BootClock().wall)
    case .announced(let id, let route, let head):
      return .announced(
        id, call(id, route, head, [], context), tokens.credential(of: head), wall: BootClock().wall)
    case .cut(let id, let route, let head, let body):
      return .cut(id, call(id, route, head, body, context))
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
      var generator = SystemRandomNumberGenerator()
      return UUID128.random(using: &generator)
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
        id, answer.status, answer.fields.map { ($0.name, $0.value) }, answer.body)
    case .store, .find, .read, .delete, .clean: use(effect, &context)
    case .write, .finish, .forget: write(effect, &context)
    case .inform(let id, let fields):
      context.inform(id, 104, fields.map { ($0.name, $0.value) })
    case .interrupt(let id): context.interrupt(id)
    case .finished: break
    }
  }

  /// Carries out an effect that concerns stored images.
  private mutating func use(_ effect: ImageServer.Effect, _ context: inout Context) {
    let (store, files, uploads, names) = (store, files, uploads, leftovers)
    switch effect {
    case .store(let token, let id, let shop, let user, let type, let bytes):
      run(token, context) { () throws(StoreFailure) in
        let image = StoredImage(
          id: id, shop: shop, user: user, type: type, size: bytes.count,
          createdAt: BootClock().wall)
        return try await Self.keep(image, bytes, in: store, files)
      }
    case .find(let token, let id):
      run(token, context) { () throws(StoreFailure) in .found(try await store.image(id)) }
    case .read(let token, let image, let range):
      run(token, context) { () throws(StoreFailure) in
        .content(try files.read(image.id, range))
      }
    case .delete(let token, let id):
      run(token, context) { () throws(StoreFailure) in
        try await store.deleteImage(id)
        try await files.removeDeleted(of: store)
        return .deleted
      }
    case .clean(let token, let age):
      leftovers = []
      run(token, context) { () throws(StoreFailure) in
        // The removal of old images may free the space that is missing.
        let failure = Self.failure(of: files, uploads)
        try await store.deleteUnclaimedImages(
          before: BootClock().wall.advanced(by: .zero - age))
        try await files.removeDeleted(of: store)
        try await files.remove(names, unlessKnownTo: store)
        return failure.map { .failed($0) } ?? .cleaned
      }
    case .write, .finish, .forget, .inform, .interrupt, .answer, .finished: break
    }
  }

  /// Returns the reason why images or uploads cannot be written; `nil` if they can.
  private static func failure(of files: ImageFiles, _ uploads: UploadFiles) -> StoreFailure? {
    do throws(StoreFailure) {
      try files.check()
      try uploads.check()
      return nil
    } catch {
      return error
    }
  }

  /// Carries out an effect that concerns the file of an upload.
  private func write(_ effect: ImageServer.Effect, _ context: inout Context) {
    let (uploads, store, files) = (uploads, store, files)
    switch effect {
    case .write(let token, let id, let record, let offset, let bytes):
      run(token, context) { () throws(StoreFailure) in
        .written(try uploads.write(bytes, to: id, record, at: offset))
      }
    case .finish(let token, let id, let record, let offset, let bytes):
      run(token, context) { () throws(StoreFailure) in
        let end = try uploads.write(bytes, to: id, record, at: offset)
        let whole = try uploads.read(id, record, upTo: end)
        guard let type = ImageType(content: whole),
          let shop = record.target.flatMap({ ShopID($0) })
        else { return .unknownType }
        let image = StoredImage(
          id: id, shop: shop, user: record.user, type: type, size: whole.count,
          createdAt: BootClock().wall)
        do throws(StoreFailure) {
          let outcome = try await Self.keep(image, whole, in: store, files)
          return outcome == .tooMany(offset: 0) ? .tooMany(offset: end) : outcome
        } catch {
          return .unfinished(end, error)
        }
      }
    case .forget(let id): uploads.remove(id)
    case .store, .find, .read, .delete, .clean, .inform, .interrupt, .answer, .finished: break
    }
  }

  /// Stores an image and its content. If that fails, no file remains.
  private static func keep(
    _ image: StoredImage, _ content: [UInt8], in store: any MessageLog, _ files: ImageFiles
  ) async throws(StoreFailure) -> ImageOutcome {
    // An upload whose last answer was lost may be completed again.
    if let known = try await store.image(image.id) { return .stored(known) }
    try files.write(content, of: image.id)
    do throws(StoreFailure) {
      if try await store.addImage(image, atMost: ImageServer.mostUnclaimed) {
        return .stored(image)
      }
    } catch {
      try? files.remove(image.id)
      throw error
    }
    try files.remove(image.id)
    return .tooMany(offset: 0)
  }

  /// Runs work on the store and the files outside the loop of the sockets.
  private func run(
    _ token: StoreToken, _ context: Context,
    _ work: @escaping @Sendable () async throws(StoreFailure) -> ImageOutcome
  ) {
    context.start { await Self.done(token, work) }
  }

  /// Runs work on the store and the files. Returns the outcome as an input.
  private static func done(
    _ token: StoreToken, _ work: () async throws(StoreFailure) -> ImageOutcome
  ) async -> Done {
    do throws(StoreFailure) {
      let outcome = try await work()
      guard case .unfinished(_, let failure) = outcome else {
        return Stored(input: .done(token, outcome))
      }
      return Stored(input: .done(token, outcome), failure: failure)
    } catch {
      return Stored(input: .done(token, .failed(error)), failure: error)
    }
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
