public import LinkCore
import LinkJSON
import LinkWire

/// An upload that goes on over several requests, as its file tells it to the next process.
public struct SyncUploadRecord: Sendable, Hashable, Codable {
  /// The name of the user that began it.
  public var user: String
  /// How many bytes there will be; `nil` if its client has not said so.
  public var length: Int?
  /// Whether the bytes are compressed.
  public var isGzip: Bool

  /// A record from its parts.
  public init(user: String, length: Int?, isGzip: Bool) {
    (self.user, self.length, self.isGzip) = (user, length, isGzip)
  }

  /// The most bytes of its line: a name has 200 at most, each with six when it is escaped.
  public static let mostBytes = 2_048

  /// The first line of the file, with its end.
  public var line: [UInt8] {
    var writer = JSONWriter(capacity: 100)
    writer.object {
      $0.entry("user", user)
      if let length { $0.entry("length", length) }
      $0.entry("gzip", isGzip)
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  /// Reads the line at the beginning of a file; `nil` if there is none of use.
  ///
  /// - Returns: Also how many bytes it has.
  public static func read(_ bytes: [UInt8]) -> (record: SyncUploadRecord, bytes: Int)? {
    guard let end = bytes.prefix(mostBytes).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let fields = JSONFields(Array(bytes[..<end]), keeping: ["user", "length", "gzip"])
    do throws(FieldFault) {
      try fields.check()
      let record = SyncUploadRecord(
        user: try fields.string("user", atMost: 200),
        length: try fields.optionalInt("length", in: 0...SyncServerPolicy.maxBodyBytes),
        isGzip: try fields.optionalBool("gzip") ?? false)
      return (record, end + 1)
    } catch {
      return nil
    }
  }
}

/// An upload that an earlier process has left.
public struct StoredUpload: Sendable, Hashable, Codable {
  /// Its name.
  public var id: UUID128
  /// What its file says.
  public var record: SyncUploadRecord
  /// How many bytes came.
  public var offset: Int
  /// How long ago the last of them came.
  public var age: Duration

  /// An upload from its parts.
  public init(id: UUID128, record: SyncUploadRecord, offset: Int, age: Duration) {
    (self.id, self.record, self.offset, self.age) = (id, record, offset, age)
  }
}

/// The uploads that are not complete, and the requests about them.
struct SyncUploads: Sendable {
  /// One upload.
  struct Upload: Sendable, Hashable {
    var record: SyncUploadRecord
    /// How many bytes are stored.
    var offset = 0
    var expires: Instant
    /// Whether its file is there.
    var isStored = false
    /// The work for it that is under way.
    var busy: StoreToken?
    /// The request whose body is coming.
    var open: RequestID?
    /// Requests that came meanwhile, in order.
    var waiting: [Waiting] = []
  }

  /// A request that waits for the end of another one.
  struct Waiting: Sendable, Hashable {
    var id: RequestID
    var call: SyncCall
    var user: SyncUser
  }

  /// What the work that is under way is for.
  struct Work: Sendable, Hashable {
    let upload: UUID128
    let dialect: UploadDialect
    /// Whether these are the last bytes, with which the batch is stored.
    let isLast: Bool
  }

  var all: [UUID128: Upload] = [:]
  /// The requests whose heads came, and the uploads that their bodies are for.
  var announced: [RequestID: UUID128] = [:]
  var work: [StoreToken: Work] = [:]

  /// Uploads of a user that are kept at once; the oldest one makes room.
  static let mostOfUser = 16
  /// Uploads that are kept at once: files of 4 MiB at most, one gigabyte together.
  static let most = 256
  /// Requests that wait for an upload at once.
  static let mostWaiting = 4
  /// How long an upload is kept after its last bytes.
  static let age = Duration.seconds(24 * 3_600)

  /// When the next upload ends that nothing is under way for.
  var deadline: Instant? {
    all.values.lazy.filter { $0.busy == nil && $0.open == nil }.map(\.expires).min()
  }

  /// Returns an upload of a user.
  func find(_ id: UUID128?, of user: SyncUser) -> (id: UUID128, upload: Upload)? {
    guard let id, let upload = all[id], upload.record.user == user.name else { return nil }
    return (id, upload)
  }

  /// Returns the upload that makes room for another one of a user; `nil` if there is room.
  func surplus(of user: String) -> UUID128? {
    let idle = all.filter { $0.value.busy == nil && $0.value.open == nil }
    let own = all.lazy.filter { $0.value.record.user == user }.count
    guard own >= Self.mostOfUser || all.count >= Self.most else { return nil }
    let mine = own >= Self.mostOfUser
    return idle.filter { !mine || $0.value.record.user == user }
      .min { ($0.value.expires, $0.key) < ($1.value.expires, $1.key) }?.key
  }

  /// The requests that wait for an upload.
  var waiting: [RequestID] { all.values.flatMap { $0.waiting.map(\.id) } }

  /// Waits for nothing any more.
  mutating func stop() {
    (announced, work) = ([:], [:])
    for id in all.keys {
      all[id]?.busy = nil
      all[id]?.open = nil
      all[id]?.waiting = []
    }
  }

  /// Notes each invariant that does not hold now.
  func check(_ check: inout InvariantCheck) {
    check.require(all.count <= Self.most, "sync: the uploads that are kept are bounded")
    guard check.isThorough else { return }
    check.require(
      announced.allSatisfy { all[$0.value]?.open == $0.key },
      "sync: a request whose body comes has its upload")
    check.require(
      all.values.allSatisfy { upload in
        upload.open.map { announced[$0] != nil } ?? true
          && upload.busy.map { work[$0] != nil } ?? true
      }, "sync: an upload waits for what is under way")
    check.require(
      all.values.allSatisfy { upload in
        upload.waiting.count <= Self.mostWaiting
          && (upload.waiting.isEmpty || upload.busy != nil || upload.open != nil)
      }, "sync: requests wait for an upload that something is under way for")
    check.require(
      all.values.allSatisfy { $0.offset <= $0.record.length ?? SyncServerPolicy.maxBodyBytes },
      "sync: no upload is longer than was announced")
  }
}
