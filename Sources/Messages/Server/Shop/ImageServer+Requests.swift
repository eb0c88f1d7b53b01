import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastServerParts
import HoldfastUploads

// Requests, from their arrival to their work.
extension ImageServer {
  mutating func take(
    _ id: RequestID, _ call: ImageCall, _ credential: Credential, wall: Timestamp
  ) {
    if let refusal = refusal(of: call) { return answer(id, refusal) }
    if call.method == "OPTIONS" {
      return answer(
        id,
        ImageAnswer(
          204,
          [UploadField("Cache-Control", "no-store"), UploadField("Allow", call.allow)]
            + UploadOffer.options(maxSize: ShopImage.mostBytes)))
    }
    if let goingAway { return answer(id, goingAway) }
    let claims: Claims
    switch credential.checked(at: wall, leeway: policy.clockLeeway) {
    case .success(let valid): claims = valid
    case .failure(let fault):
      metrics.authFailures += 1
      return answer(id, ImageAnswer(HTTPRefusal(fault)))
    }
    requests[id]?.claims = claims
    guard hasRoomForWork else { return answer(id, busy) }
    switch call.route {
    case .upload where call.method == "POST": begin(id, call, of: claims)
    case .upload: upload(id, call.uploadCall, of: claims.user)
    case .image(let image):
      guard call.method != "DELETE" || isWithinRate(id, of: claims.user) else { return }
      frame.emit(.find(begin(id), image))
    }
  }

  /// Returns the refusal of a request that is invalid for every user, or `nil` if there is none.
  private func refusal(of call: ImageCall) -> ImageAnswer? {
    guard call.allow.split(separator: ", ").contains(call.method[...]) else {
      return .error(405, "this route takes \(call.allow)", allow: call.allow)
    }
    guard !call.speaksOtherTus || call.method == "OPTIONS" else { return ImageAnswer(.otherTus) }
    return nil
  }

  private var busy: ImageAnswer { .error(503, "too busy", retryAfter: policy.busyRetry) }

  /// The response to new requests during a drain, or `nil` otherwise.
  private var goingAway: ImageAnswer? {
    guard !frame.isServing else { return nil }
    return .error(503, "draining", retryAfter: frame.mode.window ?? policy.busyRetry)
  }

  func isMember(_ claims: Claims, of shop: ShopID) -> Bool {
    claims.shops.contains(shop) && !removed.contains(Membership(shop: shop, user: claims.user))
  }

  private mutating func isWithinRate(_ id: RequestID, of user: String) -> Bool {
    guard let wait = rate.spend(user, at: now) else { return true }
    answer(id, .error(429, "too many images", retryAfter: wait))
    return false
  }

  /// Assigns an upload to a request before its body is complete, unless the request is refused.
  mutating func announce(
    _ id: RequestID, _ call: ImageCall, _ credential: Credential, wall: Timestamp
  ) {
    guard call.route == .upload, refusal(of: call) == nil, frame.isServing,
      case .success(let claims) = credential.checked(at: wall, leeway: policy.clockLeeway)
    else { return }
    if call.method == "POST" {
      guard let shop = call.shop.flatMap({ ShopID($0) }), isMember(claims, of: shop) else { return }
    } else if let (_, upload) = uploads.find(call.uploadID, of: claims.user) {
      guard isMember(claims, of: upload.record) else { return }
    }
    announce(id, call.uploadCall, of: claims.user)
  }

  // MARK: - Uploads

  /// Begins to store an image, or an upload of one.
  private mutating func begin(_ id: RequestID, _ call: ImageCall, of claims: Claims) {
    let announced = requests[id]?.announced
    if let refusal = storageRefusal(id, call, of: claims) {
      if let announced { forget(announced) }
      return answer(id, refusal)
    }
    guard
      case .whole(let dialect) = beginUpload(
        id, call.uploadCall, of: claims.user, announced: announced)
    else { return }
    requests[id]?.completes = dialect
    do throws(Refusal) {
      let (shop, content) = try content(of: call)
      guard isMember(claims, of: shop) else { throw Refusal(.notAMember) }
      guard content.count <= ShopImage.mostBytes else { throw Refusal(.tooLarge) }
      guard let type = ImageType(content: content) else { throw Refusal(.unknownType) }
      // A request that creates something has a candidate.
      guard let image = call.candidate else { throw Refusal(busy) }
      guard hasSpace(for: content.count) else { throw Refusal(ImageAnswer(noSpace)) }
      let token = begin(id, taking: content.count)
      frame.emit(.store(token, image, shop, user: claims.user, type, Array(content)))
    } catch {
      answer(id, error.answer)
    }
  }

  /// The refusal of a request, as an error.
  private struct Refusal: Error {
    var answer: ImageAnswer

    init(_ answer: ImageAnswer) { self.answer = answer }
  }

  /// Returns the refusal of a request that stores an image, before its content is examined.
  private mutating func storageRefusal(
    _ id: RequestID, _ call: ImageCall, of claims: Claims
  ) -> ImageAnswer? {
    // An announced upload was counted when it was announced.
    if requests[id]?.announced == nil, let wait = rate.spend(claims.user, at: now) {
      return .error(429, "too many images", retryAfter: wait)
    }
    guard call.isPlain else { return ImageAnswer(otherCoding) }
    if call.isForm { return nil }
    guard let shop = call.shop.flatMap({ ShopID($0) }) else {
      return .error(400, "shop_id: missing or not an id")
    }
    return isMember(claims, of: shop) ? nil : .notAMember
  }

  /// Returns the shop and the content of a complete body.
  private func content(
    of call: ImageCall
  ) throws(Refusal) -> (ShopID, ArraySlice<UInt8>) {
    guard call.isForm else {
      guard let shop = call.shop.flatMap({ ShopID($0) }) else {
        throw Refusal(.error(400, "shop_id: missing or not an id"))
      }
      return (shop, call.body[...])
    }
    let form: MultipartForm
    do throws(MultipartForm.Fault) {
      form = try MultipartForm(call.body, mediaType: call.mediaType ?? "")
    } catch {
      throw Refusal(.error(400, error.detail))
    }
    let name = form.content(of: "shop_id").map { String(decoding: $0, as: UTF8.self) }
    guard let shop = (name ?? call.shop).flatMap({ ShopID($0) }) else {
      throw Refusal(.error(400, "shop_id: missing or not an id"))
    }
    guard let file = form.content(of: "file") else { throw Refusal(.error(400, "file: missing")) }
    return (shop, file)
  }

  // MARK: - Downloads and deletions

  mutating func found(_ id: RequestID, _ image: StoredImage?) {
    guard let pending = requests[id], let claims = pending.claims else { return }
    guard let image else { return answer(id, .noImage) }
    guard isMember(claims, of: image.shop) else { return answer(id, .notAMember) }
    if pending.call.method == "DELETE" {
      return delete(id, image, pending.call, of: claims)
    }
    guard image.message != nil || image.user == claims.user else { return answer(id, .noImage) }
    send(id, image, pending.call)
  }

  private mutating func delete(
    _ id: RequestID, _ image: StoredImage, _ call: ImageCall, of claims: Claims
  ) {
    guard let shop = call.shop.flatMap({ ShopID($0) }) else {
      return answer(id, .error(400, "shop_id: missing or not an id"))
    }
    guard shop == image.shop else { return answer(id, .noImage) }
    guard image.user == claims.user || claims.admin.contains(image.shop) else {
      guard image.message != nil else { return answer(id, .noImage) }
      return answer(
        id, .error(403, "only the uploader and admins of the shop can delete an image"))
    }
    frame.emit(.delete(begin(id), image.id))
  }

  private mutating func send(_ id: RequestID, _ image: StoredImage, _ call: ImageCall) {
    if let known = call.ifNoneMatch, image.matches(known) {
      return answer(id, ImageAnswer(304, image.validators))
    }
    switch call.range(of: image) {
    case .unsatisfiable:
      let size = [UploadField("Content-Range", "bytes */\(image.size)")]
      answer(
        id, .error(416, "the range begins after the end of the image", fields: size))
    case .whole:
      open(Download(request: id, image: image, range: 0..<image.size, isPart: false), call)
    case .part(let range):
      open(Download(request: id, image: image, range: range, isPart: true), call)
    }
  }

  private mutating func open(_ download: Download, _ call: ImageCall) {
    let token = work.ask(Work(request: download.request, download: download))
    frame.emit(.open(token, download.image, call.method == "HEAD" ? 0..<0 : download.range))
  }
}

extension ImageCall {
  /// Returns the part of an image that the request asks for. Only GET has ranges (RFC 9110 section
  /// 14.2).
  fileprivate func range(of image: StoredImage) -> ByteRange {
    guard method == "GET", ifRange == nil || ifRange == image.tag else { return .whole }
    return ByteRange(range, of: image.size)
  }
}

extension StoredImage {
  /// The strong validator. The content of an id never changes.
  var tag: String { "\"\(id)\"" }

  /// The header fields that every successful response has.
  var validators: [UploadField] {
    [UploadField("ETag", tag), UploadField("Cache-Control", "private, no-cache")]
  }

  /// Returns whether a value of `If-None-Match` names this image (RFC 9110 section 13.1.2).
  fileprivate func matches(_ field: String) -> Bool {
    field.split(separator: ",").contains { member in
      let tag = member.filter { $0 != " " && $0 != "\t" }
      return tag == "*" || tag == self.tag || tag == "W/\(self.tag)"
    }
  }
}

extension ImageAnswer {
  static let notAMember = ImageAnswer.error(403, ImageServer.notAMember)
  static let tooLarge = ImageAnswer.error(413, ImageServer.tooLarge)
  static let unknownType = ImageAnswer.error(
    415, "the content is not a JPEG, PNG, GIF, WebP or HEIC image")
}
