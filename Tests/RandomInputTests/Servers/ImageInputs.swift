import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastUploads

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// Random inputs for a server of images that runs in several processes in turn, and its promises.
struct ImageInputs: UploadInputs {
  var run: RandomRun<ImageServer>
  var notes = ServerNotes()
  var uploads = RandomUploads()
  private let policy: ShopServerPolicy
  var drainLimit: Duration { policy.drainLimit }

  /// The requests that have not been answered.
  private var requests: [RequestID: (call: ImageCall, credential: Credential)] = [:]
  /// The requests whose bodies have not arrived completely.
  private var coming: [RequestID: (call: ImageCall, credential: Credential)] = [:]
  /// The pending effects.
  private var work: [(token: StoreToken, effect: ImageServer.Effect)] = []
  /// The stored images.
  private var images: [MessageID: StoredImage] = [:]
  private var removed: Set<Membership> = []

  private static let users = ["one", "another", "a\"third"]
  private static let shops = [ShopID(UUID128(high: 4, low: 1)), ShopID(UUID128(high: 4, low: 2))]

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    var policy = ShopServerPolicy()
    if draw.oneIn(3) { policy.maxRequests = draw.one([1, 2, 4]) }
    if draw.oneIn(3) { policy.postBurst = draw.one([1, 3]) }
    if draw.oneIn(3) { policy.drainLimit = draw.one([.zero, .seconds(1)]) }
    self.policy = policy.workable
    run = RandomRun(ImageServer(policy: policy, at: .zero), seed: seed, generator: draw.generator)
  }

  mutating func begin() { give(.restored([])) }

  mutating func act() {
    passTime([.milliseconds(7), .seconds(1), .seconds(9), .seconds(3_600), .seconds(43_200)])
    switch number(0...19) {
    case 0...6: request()
    case 7...11: finishWork()
    case 12: complete()
    case 13, 14:
      give(
        .announced(RequestID(notes.fresh()), call(withBody: false), credential(), wall: wall))
    case 15, 16: endBody()
    case 17: for _ in 0..<number(2...6) { request() }
    case 18: if let id = requests.keys.min() { give(.abandoned(id)) }
    case _:
      give(.disk(disk()))
      if oneIn(5) {
        give(.removals(oneIn(2) ? [] : [Membership(shop: Self.shops[0], user: Self.users[0])]))
      }
      if oneIn(20) { give(.drain(within: .milliseconds(number(0...9_000)))) }
      if oneIn(12) || machine.isFinished { beginAnew() }
    }
  }

  mutating func noteRestart() {
    notes.restart()
    (requests, coming, work, removed) = ([:], [:], [], [])
    (uploads.busy, uploads.coming) = ([], [])
  }

  static func request(in effect: ImageServer.Effect) -> String? {
    switch effect {
    case .answer(let id, _): "an answer to \(id)"
    case .finished: "the end of a drain"
    case .store, .find, .open, .delete, .clean, .upload: nil
    }
  }
}

// MARK: Inputs
extension ImageInputs {
  private mutating func credential() -> Credential {
    if oneIn(12) { return .missing }
    let user = one(Self.users + [Self.users[0]])
    return .valid(
      Claims(
        user: user, name: user, shops: oneIn(4) ? [Self.shops[1]] : Self.shops,
        admin: oneIn(4) ? [Self.shops[0]] : [],
        expiresAt: wall.advanced(by: .seconds(oneIn(12) ? 0 : 9_999_999))))
  }

  private mutating func content() -> [UInt8] {
    let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    return png.prefix(oneIn(4) ? 3 : 8) + (0..<number(0...6)).map { UInt8($0) }
  }

  private mutating func call(withBody: Bool = true) -> ImageCall {
    let body = withBody ? content() : []
    let shop = oneIn(12) ? nil : one(Self.shops).text
    let known = images.keys.sorted().randomElement(using: &generator)
    switch number(0...9) {
    case 0: return ImageCall(one(["GET", "POST", "OPTIONS", "PUT"]), .upload, shop: shop)
    case 1...3:
      let id = known ?? UUID128(high: 79, low: 1)
      var call = ImageCall(one(["GET", "GET", "HEAD", "DELETE"]), .image(id), shop: shop)
      (call.range, call.ifNoneMatch) = (maybe("bytes=0-1"), oneIn(6) ? "\"\(id)\"" : nil)
      return call
    case 4...6:
      var call = ImageCall("POST", .upload, shop: shop, mediaType: "image/png", body: body)
      if oneIn(2) { call.upload = uploadFields(body.count, nil, most: ShopImage.mostBytes) }
      call.candidate = UUID128(high: 77, low: notes.fresh())
      call.isPlain = !oneIn(15)
      if oneIn(9) { call.mediaType = "multipart/form-data; boundary=x" }
      return call
    case _:
      let method = one(["HEAD", "PATCH", "PATCH", "PATCH", "DELETE"])
      // A piece is short, so that its upload is completed often.
      let piece = Array(body.suffix(number(0...6)))
      var call = ImageCall(method, .upload, body: piece)
      call.uploadID = anyUpload()
      call.upload =
        oneIn(12) ? nil : uploadFields(piece.count, call.uploadID, most: ShopImage.mostBytes)
      call.mediaType = oneIn(12) ? "text/plain" : call.upload?.dialect.mediaType
      return call
    }
  }

  private mutating func request() {
    give(.request(RequestID(notes.fresh()), call(), credential(), wall: wall))
  }

  /// Sends the last piece of an upload as its user.
  private mutating func complete() {
    guard let (id, file) = uploads.files.min(by: { $0.key < $1.key }) else { return }
    let rest = max(0, (file.record.length ?? file.count + 3) - file.count)
    let piece = [UInt8](repeating: 7, count: min(rest, 9))
    var call = ImageCall("PATCH", .upload, body: piece)
    call.uploadID = id
    call.upload = UploadFields(.current, offset: file.count, isComplete: true)
    call.mediaType = call.upload?.dialect.mediaType
    let claims = Claims(
      user: file.record.user, name: "", shops: Self.shops,
      expiresAt: wall.advanced(by: .seconds(9)))
    give(.request(RequestID(notes.fresh()), call, .valid(claims), wall: wall))
  }

  /// Completes the body of a request or cuts it off.
  private mutating func endBody() {
    guard let id = coming.keys.min(), let (announced, credential) = coming[id] else { return }
    var call = announced
    call.body = content()
    if oneIn(2) { return give(.cut(id, call)) }
    give(.request(id, call, credential, wall: wall))
  }

  /// Ends a pending effect, sometimes with a failure.
  private mutating func finishWork() {
    guard let done = work.randomElement(using: &generator) else { return }
    let outcome = outcome(of: done.effect, storeFailure())
    give(.done(done.token, outcome))
    if oneIn(20) { give(.done(done.token, outcome)) }
  }

  private mutating func outcome(
    of effect: ImageServer.Effect, _ failure: StoreFailure
  ) -> ImageOutcome {
    if oneIn(6) { return .failed(failure) }
    switch effect {
    case .store(_, let id, let shop, let user, let type, let bytes):
      if oneIn(6) { return .tooMany(wait: .seconds(number(0...9))) }
      return .stored(
        StoredImage(
          id: id, shop: shop, user: user, type: type, size: bytes.count, createdAt: wall))
    case .upload(.write(_, _, _, let offset, let bytes)): return .written(offset + bytes.count)
    case .upload(.finish(_, let id, let record, let offset, let bytes)):
      let end = offset + bytes.count
      let image = StoredImage(
        id: id, shop: record.target.flatMap { ShopID($0) } ?? Self.shops[0], user: record.user,
        type: .png, size: end, createdAt: wall)
      return one([
        .stored(image), .stored(image), .unknownType, .tooMany(wait: .zero),
        .unfinished(end, failure),
      ])
    case .find(_, let id):
      var image = images[id]
      if oneIn(2) { image?.message = UUID128(high: 3, low: 3) }
      return .found(image)
    case .open(_, let image, _):
      return .content(images[image.id] == nil ? .missing : one([.ready, .ready, .damaged]))
    case .delete: return .deleted
    case .clean, .upload, .answer, .finished: return .cleaned
    }
  }

  /// Restarts the process, which finds the files of the previous process.
  private mutating func beginAnew() {
    let stored = storedUploads()
    restart(ImageServer(policy: policy, at: now))
    give(.restored(stored))
  }
}

// MARK: Promises
extension ImageInputs {
  mutating func note(_ step: MachineStep<ImageServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect, after: step.input) }
    checkDrain(step)
  }

  private mutating func note(_ input: ImageServer.Input) {
    switch input {
    case .request(let id, let call, let credential, _):
      coming[id] = nil
      requests[id] = (call, credential)
    case .abandoned(let id): requests[id] = nil
    case .done(let token, let outcome): end(token, outcome)
    case .drain: noteDrain()
    case .restored, .disk: break
    case .announced(let id, let call, let credential, _): coming[id] = (call, credential)
    case .cut(let id, _): coming[id] = nil
    case .removals(let memberships): removed = Set(memberships)
    }
  }

  /// Applies the outcome of an effect to the files and the images.
  private mutating func end(_ token: StoreToken, _ outcome: ImageOutcome) {
    guard let index = work.firstIndex(where: { $0.token == token }) else { return }
    let effect = work.remove(at: index).effect
    if case .upload(let effect) = effect, let work = effect.work {
      uploads.busy.remove(work.upload)
    }
    if case .failed = outcome { return }
    if case .stored(let image) = outcome { images[image.id] = image }
    switch effect {
    case .upload(let effect): uploads.apply(effect)
    case .delete(_, let id): images[id] = nil
    case .store, .find, .open, .clean, .answer, .finished: return
    }
  }

  private mutating func note(_ effect: ImageServer.Effect, after input: ImageServer.Input?) {
    switch effect {
    case .store(let token, _, let shop, let user, let type, let bytes):
      require(!removed.contains(Membership(shop: shop, user: user)), "only members upload")
      require(ImageType(content: bytes) == type, "an image has the type of its content")
      work.append((token, effect))
    case .find(let token, _), .open(let token, _, _), .delete(let token, _),
      .clean(let token, _):
      work.append((token, effect))
    case .upload(let part):
      uploads.coming = Set(coming.keys)
      note(part)
      if let token = part.work?.token { work.append((token, effect)) }
    case .answer(let id, let answer): note(answer, to: id, after: input)
    case .finished: require(requests.isEmpty, "each request is answered before a drain ends")
    }
  }

  private mutating func note(
    _ answer: ImageAnswer, to id: RequestID, after input: ImageServer.Input?
  ) {
    guard let (call, credential) = requests.removeValue(forKey: id) else {
      return run.fail("only a request that waits is answered")
    }
    guard 200..<300 ~= answer.status, call.method != "OPTIONS" else { return }
    guard case .valid(let claims) = credential else {
      return run.fail("only a request with a token is served")
    }
    if case .image(let image) = call.route, call.method != "DELETE" {
      guard case .done(_, .content(.ready)) = input else {
        return run.fail("an image is sent once its file is open")
      }
      let shop = images[image]?.shop
      require(shop.map(claims.shops.contains) ?? true, "only members download")
    }
    if call.route == .upload, call.method == "POST", answer.status == 200 {
      guard case .done(_, .stored(let image)) = input else {
        return run.fail("an upload is answered once it is stored")
      }
      require(image.user == claims.user, "an image belongs to its uploader")
    }
  }
}
