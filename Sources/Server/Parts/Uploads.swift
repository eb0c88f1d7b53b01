public import HoldfastCore
import HoldfastJSON
package import HoldfastUploads

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

/// The space of the file system on which uploads are stored, in bytes.
public struct DiskSpace: Sendable, Hashable, Codable {
  /// The free space.
  public var free: Int
  /// The size of the file system.
  public var total: Int

  /// Creates a value from its parts.
  public init(free: Int, total: Int) { (self.free, self.total) = (free, total) }

  /// The maximum space that uploads and images leave free: 64 MiB.
  ///
  /// The log of messages needs it. It stores each message twice before it is compact, so that some
  /// 3,000 messages of the maximum size fit.
  package static let mostReserve = 64 << 20
  /// The space that uploads and images leave free. On a small disk, it is a tenth of the disk.
  package var reserve: Int { min(Self.mostReserve, total / 10) }
}

/// The incomplete uploads of a service, and the requests about them.
package struct Uploads: Sendable {
  /// An incomplete upload and its requests.
  package struct Upload: Sendable, Hashable {
    package var record: UploadRecord
    /// The number of bytes stored.
    package var offset = 0
    var expires: Instant
    /// Whether the file of the upload exists.
    var isStored = false
    /// The work under way for the upload, if there is any.
    var busy: StoreToken?
    /// The request whose body is being received.
    var open: RequestID?
    /// The requests that arrived while another one was under way, in order.
    package var waiting: [Waiting] = []
  }

  /// A request that waits until another one ends.
  package struct Waiting: Sendable, Hashable {
    var id: RequestID
    var call: UploadCall
    var user: String
  }

  /// The purpose of work that is under way.
  package struct Work: Sendable, Hashable {
    package let upload: UUID128
    package let dialect: UploadDialect
    /// Whether the request creates the upload.
    let isCreation: Bool
    /// Whether the work writes the last bytes of the upload and then stores what they complete.
    package let isLast: Bool
    /// The offset at which the upload ends when the work has succeeded.
    package let end: Int
  }

  package var all: [UUID128: Upload] = [:]
  /// The requests whose heads have arrived, with the uploads to which their bodies belong.
  package var announced: [RequestID: UUID128] = [:]
  package var work: [StoreToken: Work] = [:]
  /// The space that work under way takes, including work for no upload.
  package var taken: [StoreToken: Int] = [:]
  /// The space when it was last measured, less what was written since; `nil` if it is unknown.
  package var disk: DiskSpace?
  /// The time at which the space is measured without a request; `nil` if it is unknown.
  package var measuresAt: Instant?

  package init() {}

  /// The maximum number of stored uploads of one user. A further upload replaces the oldest.
  package static let mostOfUser = 16
  /// The maximum number of stored uploads of one server. A further upload replaces the oldest.
  package static let most = 256
  /// The maximum total size of the stored uploads of one user: eight images of the maximum size.
  /// Further bytes replace the oldest uploads.
  package static let mostBytesOfUser = 40 << 20
  /// The maximum total size of the stored uploads of one server: those of six users. Further bytes
  /// replace the oldest uploads.
  package static let mostBytes = 240 << 20
  /// The maximum number of requests that wait for one upload.
  package static let mostWaiting = 4
  /// The time for which an upload is stored after its last bytes arrived.
  package static let age = Duration.seconds(24 * 3_600)
  /// The time between two measurements of the space while there are uploads.
  package static let measuringInterval = Duration.seconds(300)
  /// The retry time of a request that is refused because of the space on the disk.
  package static let spaceRetry = Duration.seconds(30)

  /// The time at which the next upload expires or the space is measured. Uploads with work under way
  /// do not expire.
  package var deadline: Instant? {
    let expiry = all.values.lazy.filter { $0.busy == nil && $0.open == nil }.map(\.expires).min()
    return [expiry, all.isEmpty ? nil : measuresAt].compactMap(\.self).min()
  }

  /// Returns the upload with an id, or `nil` if it does not belong to the user.
  package func find(_ id: UUID128?, of user: String) -> (id: UUID128, upload: Upload)? {
    guard let id, let upload = all[id], upload.record.user == user else { return nil }
    return (id, upload)
  }

  /// Returns the uploads without work under way except one, the oldest first.
  private func idle(but name: UUID128? = nil) -> [(key: UUID128, value: Upload)] {
    all.filter { $0.value.busy == nil && $0.value.open == nil && $0.key != name }
      .sorted { ($0.value.expires, $0.key) < ($1.value.expires, $1.key) }
  }

  /// Returns the size of the uploads of one user, or of all, after the work under way.
  private func bytes(of user: String? = nil) -> Int {
    all.values.lazy.filter { user == nil || $0.record.user == user }
      .reduce(0) { $0 + ($1.busy.flatMap { work[$0]?.end } ?? $1.offset) }
  }

  /// Returns whether a user may store further bytes: in an upload, or in a new one if it is `nil`.
  package func hasRoom(for user: String, _ count: Int, in name: UUID128?) -> Bool {
    (name != nil || all.count < Self.most) && bytes() + count <= Self.mostBytes
      && bytes(of: user) + count <= Self.mostBytesOfUser
  }

  /// Returns the upload to remove before a user stores further bytes, or `nil` if no upload has to
  /// or can be removed.
  package func surplus(of user: String, _ count: Int, in name: UUID128?) -> UUID128? {
    let isTooMuch = bytes(of: user) + count > Self.mostBytesOfUser
    let isOwn = isTooMuch || (name == nil && self.count(of: user) >= Self.mostOfUser)
    guard isOwn || !hasRoom(for: user, count, in: name) else { return nil }
    let isFull = isTooMuch || bytes() + count > Self.mostBytes
    return idle(but: name).first {
      (!isOwn || $0.value.record.user == user) && (!isFull || $0.value.offset > 0)
    }?.key
  }

  /// The space that uploads may still take; `nil` if it is unknown.
  package var spare: Int? { disk.map { $0.free - $0.reserve - taken.values.reduce(0, +) } }

  /// Returns the oldest uploads that have to be removed before `count` bytes are stored. If not even
  /// the removal of all uploads suffices, the bytes are not considered.
  package func obstacles(to count: Int, in name: UUID128?) -> [UUID128] {
    guard var spare, spare < count else { return [] }
    let removable = idle(but: name).filter { $0.value.offset > 0 }
    let most = removable.reduce(spare) { $0 + $1.value.offset }
    let needed = most < count ? 0 : count
    return removable.prefix { upload in
      defer { spare += upload.value.offset }
      return spare < needed
    }.map(\.key)
  }

  /// Ends work. Returns its purpose if it concerns an upload.
  package mutating func end(_ token: StoreToken) -> Work? {
    let space = taken.removeValue(forKey: token) ?? 0
    disk?.free -= space
    guard let work = work.removeValue(forKey: token) else { return nil }
    all[work.upload]?.busy = nil
    return work
  }

  /// Returns the number of unfinished uploads of a user.
  package func count(of user: String) -> Int {
    all.values.lazy.filter { $0.record.user == user }.count
  }

  /// The requests that wait for any upload.
  package var waiting: [RequestID] { all.values.flatMap { $0.waiting.map(\.id) } }

  /// Cancels all work and drops all waiting requests.
  package mutating func stop() {
    (announced, work, taken) = ([:], [:], [:])
    for id in all.keys {
      all[id]?.busy = nil
      all[id]?.open = nil
      all[id]?.waiting = []
    }
  }

  /// Records each invariant that does not hold.
  package func check(_ check: inout InvariantCheck, maxBytes: Int) {
    check.require(all.count <= Self.most, "uploads: the uploads that are kept are bounded")
    guard check.isThorough else { return }
    check.require(bytes() <= Self.mostBytes, "uploads: the bytes that are kept are bounded")
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
