public import HoldfastCore
public import HoldfastJSON
public import HoldfastServerParts

/// The erasure of all data of one user, which was accepted and is carried out once.
public struct EraseJob: Sendable, Hashable {
  /// The numbers of what was erased.
  public struct Counts: Sendable, Hashable {
    /// The messages of the user.
    public var messages = 0
    /// The records of health sync: samples, and what is known about their identifiers.
    public var records = 0
    /// The uploads that were not complete.
    public var uploads = 0

    /// Creates counts of nothing.
    public init() {}
  }

  /// The name of the job.
  public let id: UUID128
  /// The user; `nil` once the job has ended, so that nothing names the user any more.
  public internal(set) var user: String?
  /// The time at which the job was accepted.
  public let acceptedAt: Timestamp
  /// The time at which everything was erased; `nil` until then.
  public internal(set) var endedAt: Timestamp?
  public internal(set) var counts = Counts()
  /// The reason why the last attempt failed; `nil` if none did. The job is tried again.
  public internal(set) var failure: String?

  /// Whether everything was erased.
  public var isDone: Bool { endedAt != nil }

  /// Writes the members that operators see. The user is not one of them.
  func write(to writer: inout JSONWriter) {
    writer.entry("id", id.description)
    writer.entry("state", isDone ? "done" : "running")
    writer.entry("accepted_at", RFC3339.format(acceptedAt))
    writer.entry("ended_at", endedAt.map { RFC3339.format($0) })
    writer.entry("messages", counts.messages)
    writer.entry("records", counts.records)
    writer.entry("uploads", counts.uploads)
    writer.entry("failure", failure)
  }
}

/// The erasures of a node, in the order of their acceptance. Its encoded form is a file, so that an
/// erasure that was accepted continues after a restart.
///
/// The rules are values. The file must be durable before an erasure counts as accepted.
public struct EraseJobs: Sendable, Hashable {
  /// The maximum number of erasures that have not ended.
  public static let mostOpen = 1_000
  /// The number of ended erasures that are kept.
  public static let mostEnded = 100

  /// All erasures, in the order of their acceptance.
  public private(set) var all: [EraseJob] = []

  /// Creates an empty list.
  public init() {}

  /// The erasure to carry out now; `nil` for none.
  public var next: EraseJob? { all.first { !$0.isDone } }

  /// Returns the erasure with a name.
  public subscript(id: UUID128) -> EraseJob? { all.first { $0.id == id } }

  /// Accepts the erasure of a user. If that of the same user has not ended, it is returned, so that
  /// the request may be repeated.
  ///
  /// - Throws: The refusal if too many erasures have not ended.
  public mutating func accept(
    _ user: String, as id: UUID128, at now: Timestamp
  ) throws(HTTPRefusal) -> EraseJob {
    // Texts are equal that differ only in how an accent is written. Stores tell such users apart.
    if let known = all.first(where: { $0.user.map { $0.utf8.elementsEqual(user.utf8) } ?? false }) {
      return known
    }
    guard all.count(where: { !$0.isDone }) < Self.mostOpen else {
      throw HTTPRefusal(
        503, "\(Self.mostOpen) users are being erased; wait for some of these jobs",
        retryAfter: .seconds(60))
    }
    let job = EraseJob(id: id, user: user, acceptedAt: now)
    all.append(job)
    return job
  }

  /// Adds to what an erasure has erased. Its last failure is forgotten.
  public mutating func add(_ counts: EraseJob.Counts, to id: UUID128) {
    change(id) {
      $0.counts.messages += counts.messages
      $0.counts.records += counts.records
      $0.counts.uploads += counts.uploads
      $0.failure = nil
    }
  }

  /// Records why an attempt failed.
  public mutating func fail(_ id: UUID128, _ reason: String) { change(id) { $0.failure = reason } }

  /// Ends an erasure, and forgets its user. Of the ended ones, the oldest are forgotten.
  public mutating func end(_ id: UUID128, at now: Timestamp) {
    change(id) { ($0.endedAt, $0.user, $0.failure) = (now, nil, nil) }
    var excess = all.count(where: \.isDone) - Self.mostEnded
    all.removeAll { job in
      guard job.isDone, excess > 0 else { return false }
      excess -= 1
      return true
    }
  }

  private mutating func change(_ id: UUID128, _ body: (inout EraseJob) -> Void) {
    guard let index = all.firstIndex(where: { $0.id == id }) else { return }
    body(&all[index])
  }
}

// The form of the file: `{"erasures":[{"id":…,"user":…,"accepted_at":…,…}]}`.
extension EraseJobs {
  /// Returns the content of the file.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: 200 * all.count + 20)
    writer.object {
      $0.array("erasures") {
        for job in all {
          $0.object {
            job.write(to: &$0)
            if let user = job.user { $0.entry("user", user) }
          }
        }
      }
    }
    return writer.bytes
  }

  /// Reads the content of the file.
  ///
  /// - Throws: The fault, which says nothing about a user.
  public static func decode(_ content: [UInt8]) throws(FieldFault) -> EraseJobs {
    let fields = JSONFields(content, keeping: ["erasures"])
    try fields.check()
    var jobs = EraseJobs()
    for element in try fields.elements("erasures", atMost: mostOpen + mostEnded) {
      let job = try EraseJob(element)
      guard jobs[job.id] == nil else { throw .malformed(detail: "two erasures have one id") }
      jobs.all.append(job)
    }
    return jobs
  }
}

extension EraseJob {
  fileprivate static let members = [
    "id", "user", "accepted_at", "ended_at", "messages", "records", "uploads", "failure",
  ]

  fileprivate init(_ content: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(content, keeping: Self.members)
    try fields.check()
    guard let id = UUID128(try fields.string("id", atMost: 36)) else {
      throw .malformed(detail: "id is not a UUID")
    }
    func time(_ name: String) throws(FieldFault) -> Timestamp? {
      guard let text = try fields.optionalString(name) else { return nil }
      guard let time = RFC3339.parse(text) else { throw .badDate(field: name) }
      return time
    }
    guard let acceptedAt = try time("accepted_at") else { throw .missing(field: "accepted_at") }
    (self.id, self.acceptedAt, endedAt) = (id, acceptedAt, try time("ended_at"))
    if endedAt == nil { user = try fields.string("user", atMost: AdminCall.maxUserBytes) }
    let most = 0...Int.max
    counts.messages = try fields.optionalInt("messages", in: most) ?? 0
    counts.records = try fields.optionalInt("records", in: most) ?? 0
    counts.uploads = try fields.optionalInt("uploads", in: most) ?? 0
    failure = try fields.optionalString("failure")
  }
}
