public import HoldfastCore
public import HoldfastIdentity
public import HoldfastMessageData
public import HoldfastServerParts
import HoldfastUploads

/// The rules of the images of messages: access, limits, uploads and the drain.
///
/// A request waits only for its own work, which reads and writes the log and the files:
///
///     request ──► refused
///        ├──► stores an image ──► answered
///        └──► finds the image ──► refused
///                 └──► reads or deletes it ──► answered
///
/// The log knows which message an image belongs to, and deletes images with their messages.
public struct ImageServer: ServerRules {
  /// An input of the server.
  public enum Input: Sendable, Hashable, Codable {
    /// A request arrived.
    case request(RequestID, ImageCall, Credential, wall: Timestamp)
    /// The client disconnected before it received the response.
    case abandoned(RequestID)
    /// Work that an effect requested has ended.
    case done(StoreToken, ImageOutcome)
    /// The uploads of an earlier process. This is the first input.
    case restored([StoredUpload])
    /// The head of a request arrived, and its body follows.
    case announced(RequestID, ImageCall, Credential, wall: Timestamp)
    /// An announced request ended before its body was complete. The call contains the received
    /// part.
    case cut(RequestID, ImageCall)
    /// The space of the file system of the images and uploads was measured.
    case disk(DiskSpace)
    /// The complete list of removals arrived. It replaces the previous list.
    case removals([Membership])
    /// The server must drain.
    case drain(within: Duration)
  }

  /// An effect of the server.
  public enum Effect: Sendable, Hashable, Codable {
    /// Store an image with its content, unless its user has too many unclaimed images.
    case store(StoreToken, MessageID, ShopID, user: String, ImageType, [UInt8])
    /// Find an image.
    case find(StoreToken, MessageID)
    /// Open the file of an image, and check that the part that will be sent can be read. If only the
    /// length is sent, the part is empty.
    case open(StoreToken, StoredImage, Range<Int>)
    /// Delete an image and its content.
    case delete(StoreToken, MessageID)
    /// Check that images can be written, delete unclaimed images of this age, and remove the content
    /// of all deleted images.
    case clean(StoreToken, age: Duration)
    /// Carry out an effect of the uploads. A finished upload is an image.
    case upload(UploadEffect)
    /// Answer a request.
    case answer(RequestID, ImageAnswer)
    /// Report the end of the drain.
    case finished
  }

  /// A request that has not been answered.
  struct Pending: Sendable {
    var call: ImageCall
    /// The claims of the token.
    var claims: Claims?
    /// The upload that was announced for the request.
    var announced: UUID128?
    /// The protocol of the upload that the response completes.
    var completes: UploadDialect?
  }

  /// Work under way for a request.
  struct Work: Sendable {
    var request: RequestID
    /// The download whose file is being opened, if that is the work.
    var download: Download?
  }

  /// A download that waits for the file of its image.
  struct Download: Sendable {
    var request: RequestID
    var image: StoredImage
    var range: Range<Int>
    /// Whether the request asks for a range.
    var isPart: Bool
  }

  /// The time for which an unclaimed image is kept.
  public static let unclaimedAge = Duration.seconds(24 * 3_600)
  /// The time between two removals of old unclaimed images, unless the store failed.
  static let cleaningInterval = Duration.seconds(3_600)
  /// The maximum number of unclaimed images of one user.
  public static let mostUnclaimed = 16

  let policy: ShopServerPolicy
  package var frame: ServerFrame<Effect>
  var requests: [RequestID: Pending] = [:]
  /// The requests with work under way, including those whose clients disconnected.
  var work = StoreQuestions<Work>()
  var cleaning: ImageCleaning
  var removed: Set<Membership> = []
  var rate: TokenBuckets
  package var uploads = Uploads()
  var metrics = ImageMetrics()

  /// Creates a server that starts at `now`.
  public init(
    policy: ShopServerPolicy = ShopServerPolicy(), removed: [Membership] = [], at now: Instant
  ) {
    let policy = policy.workable
    self.policy = policy
    frame = ServerFrame(at: now)
    rate = TokenBuckets(
      interval: policy.postInterval, burst: policy.postBurst, bound: policy.maxWatchedUsers)
    self.removed = Set(removed)
    cleaning = ImageCleaning(at: now)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let credential, let wall):
      let announced = endAnnouncement(of: id)
      requests[id] = Pending(call: call, announced: announced)
      take(id, call, credential, wall: wall)
      if let announced { resume(announced) }
    case .abandoned(let id): requests[id] = nil
    case .done(let token, let outcome): done(token, outcome)
    case .restored(let uploads): restore(uploads)
    case .announced(let id, let call, let credential, let wall):
      announce(id, call, credential, wall: wall)
    case .cut(let id, let call): cut(id, call.uploadCall)
    case .disk(let space): measured(space)
    case .removals(let memberships): removed = Set(memberships)
    case .drain(let window):
      _ = frame.drain(within: window, grace: policy.drainLimit, limit: policy.drainLimit)
      interruptUploads()
    }
    return conclude()
  }

  /// Advances the drain, expires uploads and removes old unclaimed images.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    _ = frame.leave()
    if frame.givesUp {
      let late = ImageAnswer.error(503, "the server stopped", retryAfter: policy.busyRetry)
      for id in requests.keys.sorted() { answer(id, late) }
      work.removeAll()
      cleaning.stop()
      uploads.stop()
    }
    expireUploads()
    if frame.isServing,
      let token = cleaning.begin(
        at: now, interval: Self.cleaningInterval, { work.number() })
    {
      frame.emit(.clean(token, age: Self.unclaimedAge))
    }
    return conclude()
  }

  /// The next instant at which `tick` must be called.
  public var deadline: Instant? {
    let cleansNext = frame.isServing ? cleaning.deadline : nil
    return [frame.mode.deadline, uploads.deadline, cleansNext].compactMap(\.self).min()
  }

  /// Ends a drain once no request and no work is pending, and returns the effects.
  private mutating func conclude() -> [Effect] {
    if requests.isEmpty, work.isEmpty, !cleaning.isUnderWay, uploads.announced.isEmpty {
      frame.finish(with: .finished)
    }
    return frame.takeEffects()
  }

  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  public var isFinished: Bool { frame.isFinished }

  var now: Instant { frame.now }

  public static var storeName: String { "the image store" }

  public var serviceHealth: ServiceHealth {
    ServiceHealth(isServing: frame.isServing, storeFailure: cleaning.failure, of: Self.storeName)
  }

  /// Adds the server's metrics to the backend's page.
  public func report(to page: inout MetricsPage) { metrics.report(to: &page) }

  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    frame.check(&check)
    rate.check(&check)
    uploads.check(&check, maxBytes: ShopImage.mostBytes)
    check.require(
      work.count <= policy.maxRequests, "images: the work under way is bounded")
    check.require(
      !frame.isFinished || (requests.isEmpty && work.isEmpty),
      "images: a drain ends when nothing is left to wait for")
    guard check.isThorough else { return }
    check.require(
      Set(uploads.waiting).union(work.all.map(\.request)).isSuperset(of: requests.keys),
      "images: a request waits for its own work")
  }
}

extension ImageServer.Effect: UploadingEffect {}

extension ImageServer: UploadServer {
  package var uploadTerms: UploadTerms {
    UploadTerms(
      path: ImageRoute.upload.path, maxBytes: ShopImage.mostBytes, tooLarge: Self.tooLarge,
      otherCoding: "The body must not be compressed.", busyRetry: policy.busyRetry)
  }

  static let notAMember = "not a member of this shop"
  static let tooLarge = "An image has at most \(ShopImage.mostBytes) bytes."

  package var hasRoomForWork: Bool { work.count < policy.maxRequests }

  package mutating func answer(_ id: RequestID, _ response: UploadResponse) {
    answer(id, ImageAnswer(response))
  }

  /// Checks that the user is still a member of the shop.
  package func refusal(of id: RequestID, about record: UploadRecord) -> UploadResponse? {
    guard let claims = requests[id]?.claims else { return nil }
    return isMember(claims, of: record) ? nil : UploadResponse(error: 403, Self.notAMember)
  }

  func isMember(_ claims: Claims, of record: UploadRecord) -> Bool {
    record.target.flatMap { ShopID($0) }.map { isMember(claims, of: $0) } ?? true
  }

  package mutating func isWithinRate(_ user: String) -> Bool { rate.spend(user, at: now) == nil }

  /// Assigns a token to the work of a request.
  package mutating func begin(_ id: RequestID) -> StoreToken { work.ask(Work(request: id)) }
}

/// The counters of the images since the start.
struct ImageMetrics: Sendable {
  var stored: UInt64 = 0
  var storedBytes: UInt64 = 0
  var served: UInt64 = 0
  var servedBytes: UInt64 = 0
  var deleted: UInt64 = 0
  var authFailures: UInt64 = 0
  var storeFailures: UInt64 = 0

  func report(to page: inout MetricsPage) {
    page.refusals.add(.unauthorized, authFailures)
    page.refusals.add(.store, storeFailures)
    page.counters(
      of: self,
      [
        ("images_stored", "Images made durable.", \.stored),
        ("images_stored_bytes", "Bytes of these.", \.storedBytes),
        ("images_served", "Images or parts of images sent.", \.served),
        ("images_served_bytes", "Bytes of these.", \.servedBytes),
        ("images_deleted", "Images deleted by a request of their own.", \.deleted),
        ("image_auth_failures", "Image requests without a valid token.", \.authFailures),
        ("image_store_failures", "Image requests that the store failed.", \.storeFailures),
      ])
  }
}
