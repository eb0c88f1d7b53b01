public import HoldfastCore
import HoldfastJSON
import HoldfastWire

/// The record of an upload that spans several requests, in the form stored in the upload's file.
public struct UploadRecord: Sendable, Hashable, Codable {
  /// The name of the user that started the upload.
  public var user: String
  /// The total number of bytes, or `nil` if the client has not sent it.
  public var length: Int?
  /// A Boolean value that indicates whether the bytes are compressed.
  public var isGzip: Bool
  /// The name of that to which the bytes belong, such as a room; `nil` if there is no such thing.
  public var target: String?

  /// Creates a record from its parts.
  public init(user: String, length: Int?, isGzip: Bool, target: String? = nil) {
    (self.user, self.length, self.isGzip, self.target) = (user, length, isGzip, target)
  }

  /// The maximum size of the line. Each byte of a name takes up to six bytes when escaped.
  public static let mostBytes = 2_048

  /// The first line of the file, including the line break.
  public var line: [UInt8] {
    var writer = JSONWriter(capacity: 100)
    writer.object {
      $0.entry("user", user)
      if let length { $0.entry("length", length) }
      $0.entry("gzip", isGzip)
      if let target { $0.entry("target", target) }
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  /// Reads the line at the start of a file.
  ///
  /// - Parameters:
  ///   - maxBytes: The maximum length of an upload.
  ///   - maxUserBytes: The maximum size of a user's name.
  /// - Returns: The record and the number of bytes in its line, or `nil` if there is no valid line.
  public static func read(
    _ bytes: [UInt8], atMost maxBytes: Int, maxUserBytes: Int = 200
  ) -> (record: UploadRecord, bytes: Int)? {
    guard let end = bytes.prefix(mostBytes).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let fields = JSONFields(Array(bytes[..<end]), keeping: ["user", "length", "gzip", "target"])
    do throws(FieldFault) {
      try fields.check()
      let record = UploadRecord(
        user: try fields.string("user", atMost: maxUserBytes),
        length: try fields.optionalInt("length", in: 0...maxBytes),
        isGzip: try fields.optionalBool("gzip") ?? false,
        target: try fields.optionalString("target"))
      return (record, end + 1)
    } catch {
      return nil
    }
  }
}

/// An upload that an earlier process left incomplete.
public struct StoredUpload: Sendable, Hashable, Codable {
  /// The id of the upload.
  public var id: UUID128
  /// The record in the file of the upload.
  public var record: UploadRecord
  /// The number of bytes received.
  public var offset: Int
  /// The time since the last byte was received.
  public var age: Duration

  /// Creates a stored upload from its parts.
  public init(id: UUID128, record: UploadRecord, offset: Int, age: Duration) {
    (self.id, self.record, self.offset, self.age) = (id, record, offset, age)
  }
}

/// The incomplete uploads of a service, and the requests about them.
struct Uploads: Sendable {
  /// An incomplete upload and its requests.
  struct Upload: Sendable, Hashable {
    var record: UploadRecord
    /// The number of bytes stored.
    var offset = 0
    var expires: Instant
    /// Whether the file of the upload exists.
    var isStored = false
    /// The work under way for the upload, if there is any.
    var busy: StoreToken?
    /// The request whose body is being received.
    var open: RequestID?
    /// The requests that arrived while another one was under way, in order.
    var waiting: [Waiting] = []
  }

  /// A request that waits until another one ends.
  struct Waiting: Sendable, Hashable {
    var id: RequestID
    var call: UploadCall
    var user: String
  }

  /// The purpose of work that is under way.
  struct Work: Sendable, Hashable {
    let upload: UUID128
    let dialect: UploadDialect
    /// Whether the request creates the upload.
    let isCreation: Bool
    /// Whether the work writes the last bytes of the upload and then stores what they complete.
    let isLast: Bool
  }

  var all: [UUID128: Upload] = [:]
  /// The requests whose heads have arrived, with the uploads to which their bodies belong.
  var announced: [RequestID: UUID128] = [:]
  var work: [StoreToken: Work] = [:]

  /// The maximum number of stored uploads of one user. A further upload replaces the oldest.
  static let mostOfUser = 16
  /// The maximum number of stored uploads of one server. Uploads of samples (4 MiB each) take at most
  /// 1 GiB, and those of images (5 MiB each) at most 1.25 GiB.
  static let most = 256
  /// The maximum number of requests that wait for one upload.
  static let mostWaiting = 4
  /// The time for which an upload is stored after its last bytes arrived.
  static let age = Duration.seconds(24 * 3_600)

  /// The time at which the next upload expires. Uploads with work under way are excluded.
  var deadline: Instant? {
    all.values.lazy.filter { $0.busy == nil && $0.open == nil }.map(\.expires).min()
  }

  /// Returns the upload with an id, or `nil` if it does not belong to the user.
  func find(_ id: UUID128?, of user: String) -> (id: UUID128, upload: Upload)? {
    guard let id, let upload = all[id], upload.record.user == user else { return nil }
    return (id, upload)
  }

  /// Returns the upload to remove before a user starts another one, or `nil` if no upload has to or
  /// can be removed.
  func surplus(of user: String) -> UUID128? {
    let idle = all.filter { $0.value.busy == nil && $0.value.open == nil }
    let own = all.lazy.filter { $0.value.record.user == user }.count
    guard own >= Self.mostOfUser || all.count >= Self.most else { return nil }
    let mine = own >= Self.mostOfUser
    return idle.filter { !mine || $0.value.record.user == user }
      .min { ($0.value.expires, $0.key) < ($1.value.expires, $1.key) }?.key
  }

  /// Returns the number of unfinished uploads of a user.
  func count(of user: String) -> Int { all.values.lazy.filter { $0.record.user == user }.count }

  /// The requests that wait for any upload.
  var waiting: [RequestID] { all.values.flatMap { $0.waiting.map(\.id) } }

  /// Cancels all work and drops all waiting requests.
  mutating func stop() {
    (announced, work) = ([:], [:])
    for id in all.keys {
      all[id]?.busy = nil
      all[id]?.open = nil
      all[id]?.waiting = []
    }
  }

  /// Records each invariant that does not hold.
  func check(_ check: inout InvariantCheck, maxBytes: Int) {
    check.require(all.count <= Self.most, "uploads: the uploads that are kept are bounded")
    guard check.isThorough else { return }
    check.require(
      announced.allSatisfy { all[$0.value]?.open == $0.key },
      "uploads: a request whose body comes has its upload")
    check.require(
      all.values.allSatisfy { upload in
        upload.open.map { announced[$0] != nil } ?? true
          && upload.busy.map { work[$0] != nil } ?? true
      }, "uploads: an upload waits for what is under way")
    check.require(
      all.values.allSatisfy { upload in
        upload.waiting.count <= Self.mostWaiting
          && (upload.waiting.isEmpty || upload.busy != nil || upload.open != nil)
      }, "uploads: requests wait for an upload that something is under way for")
    check.require(
      all.values.allSatisfy { $0.offset <= $0.record.length ?? maxBytes },
      "uploads: no upload is longer than was announced")
  }
}
