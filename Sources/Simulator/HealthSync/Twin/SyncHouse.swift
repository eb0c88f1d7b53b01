import LinkCore
import LinkServerCore
import LinkWire

/// What a server of health sync must do, told a second time (contract 5 and the protocols of
/// uploads).
///
/// It shares nothing with the server but the doors of web pages: it reads requests by itself, its
/// numbers are written out, and its answers are whole texts.
struct SyncHouse: Sendable {
  struct Upload: Sendable {
    var owner: String
    var length: Int?
    var isGzip: Bool
    var offset = 0
    var expires: Instant
    var isStored = false
    var busy: UInt64?
    var open: RequestID?
    var queue: [(id: RequestID, letter: SyncLetter, user: SyncUser)] = []

    var isIdle: Bool { busy == nil && open == nil }
  }

  struct Guest: Sendable {
    var path: SyncPath
    var since: Instant
    var origin: String?
    var announced: UUID128?
    /// It is about uploads, and names a version of tus.
    var isTus: Bool
    /// The protocol of the upload that its answer ends: an interop version, or 0 for tus.
    var ends: Int?
  }

  struct Work: Sendable {
    var guest: RequestID
    /// The upload, its protocol, and whether the bytes are its last ones.
    var upload: (name: UUID128, version: Int, isLast: Bool)?
  }

  enum Mode: Sendable, Equatable {
    case serves, ended
    case leaves(within: Duration, until: Instant)
  }

  var now: Instant
  var mode = Mode.serves
  var guests: [RequestID: Guest] = [:]
  var work: [UInt64: Work] = [:]
  var token: UInt64 = 0
  var uploads: [UUID128: Upload] = [:]
  var coming: [RequestID: UUID128] = [:]
  var orders: [SyncOrder] = []
  var failure: StoreFailure?
  var counts = RequestCounts()
  /// Batches, new samples, known ones, strangers, failures, bytes of uploads.
  var sums: [UInt64] = [0, 0, 0, 0, 0, 0]

  static let day = Duration.seconds(86_400)
  static let most = 4_194_304

  init(at now: Instant) { self.now = now }

  /// What must be asked for; time passes without an event.
  mutating func step(_ event: SyncLetter.Event?, at now: Instant) -> [SyncOrder] {
    self.now = now
    orders = []
    switch event {
    case .request(let id, let letter, let user, let wall): request(id, letter, user, wall)
    case .announced(let id, let letter, let user): announce(id, letter, user)
    case .cut(let id, let letter): cut(id, letter)
    case .other(let input): take(input)
    case nil: pass()
    }
    if guests.isEmpty, work.isEmpty, coming.isEmpty, case .leaves = mode {
      mode = .ended
      orders.append(.finished)
    }
    return orders
  }

  private mutating func take(_ input: SyncServer.Input) {
    switch input {
    case .abandoned(let id): guests[id] = nil
    case .done(let token, let outcome): done(token.number, outcome)
    case .drain(let window):
      if mode == .serves {
        mode = .leaves(within: window, until: now.advanced(by: .seconds(10)))
      }
      for id in coming.keys.sorted() { orders.append(.interrupt(id)) }
    case .restored(let kept):
      for upload in kept.sorted(by: { ($0.age, $0.id) < ($1.age, $1.id) }) { restore(upload) }
    case .request, .announced, .cut: return  // told with letters
    }
  }

  private mutating func restore(_ upload: KeptUpload) {
    guard upload.age < Self.day, uploads.count < 256 else {
      return orders.append(.forget(upload.id))
    }
    uploads[upload.id] = Upload(
      owner: upload.record.user, length: upload.record.length, isGzip: upload.record.isGzip,
      offset: upload.offset, expires: now.advanced(by: Self.day - upload.age), isStored: true)
  }

  private mutating func pass() {
    if case .leaves(_, let until) = mode, until <= now {
      for id in guests.keys.sorted() {
        answer(id, .error(503, "Stopped", after: 2))
      }
      (work, coming) = ([:], [:])
      for name in uploads.keys {
        uploads[name]?.busy = nil
        uploads[name]?.open = nil
        uploads[name]?.queue = []
      }
    }
    for name in uploads.keys.sorted() {
      if let upload = uploads[name], upload.isIdle, upload.expires <= now { forget(name) }
    }
  }

  var deadline: Instant? {
    var due = uploads.values.filter(\.isIdle).map(\.expires)
    if case .leaves(_, let until) = mode { due.append(until) }
    return due.min()
  }

  /// What it counts, as a page for who watches over it.
  var page: String {
    let sums: [(String, String, UInt64, String)] = [
      ("waiting", "gauge", UInt64(work.count), "Sync requests that wait for the store."),
      (
        "upload_bytes_total", "counter", sums[5],
        "Bytes of uploads that were kept before their end."
      ),
      ("batches_total", "counter", sums[0], "Batches stored."),
      ("samples_total", "counter", sums[1], "Samples that were new."),
      ("duplicates_total", "counter", sums[2], "Samples that were not new."),
      ("auth_failures_total", "counter", sums[3], "Requests without a known secret."),
      ("store_failures_total", "counter", sums[4], "Requests that the store failed."),
    ]
    let lines = sums.map { name, kind, sum, help in
      "# HELP holdfast_sync_\(name) \(help)\n# TYPE holdfast_sync_\(name) \(kind)\n"
        + "holdfast_sync_\(name) \(sum)\n"
    }
    var requests = MetricsPage()
    requests.requests.add(counts)
    return lines.joined() + requests.text
  }

  // Answers.

  /// An answer in the making.
  struct Say {
    var status: Int
    var body: String
    var fields: [[String]] = []
    /// Seconds of the wish to be left alone.
    var after: Int64?
    var allow: String?
    var isPreflight = false
    var tellsCodings = false

    static func error(
      _ status: Int, _ words: String, _ details: String? = nil, after: Int64? = nil
    ) -> Say {
      var members = [SyncScribe.member("error", words)]
      if let details { members.append(SyncScribe.member("details", details)) }
      return Say(status: status, body: SyncScribe.object(members), after: after)
    }
  }

  mutating func answer(_ id: RequestID, _ say: Say) {
    guard let guest = guests.removeValue(forKey: id) else { return }
    counts.answered(
      Self.words[guest.path] ?? "", status: say.status, after: guest.since.duration(to: now))
    var fields = say.body.isEmpty ? [] : [["Content-Type", "application/json"]]
    fields.append(["Cache-Control", "no-store"])
    fields += say.fields
    if let version = guest.ends, version > 0 {
      fields += Self.named(version) + [Self.ended(version, true)]
    }
    if guest.isTus, !fields.contains(Self.named(0)[0]) { fields += Self.named(0) }
    if say.status == 401 { fields.append(["WWW-Authenticate", "Bearer"]) }
    if let allow = say.allow { fields.append(["Allow", allow]) }
    if let after = say.after { fields.append(["Retry-After", "\(after)"]) }
    if guest.path == .sync || say.tellsCodings { fields.append(["Accept-Encoding", "gzip"]) }
    if let origin = guest.origin, say.status != 403, say.status != 421 {
      fields += [
        ["Access-Control-Allow-Origin", origin], ["Vary", "Origin"],
        ["Access-Control-Expose-Headers", "Retry-After"],
      ]
      if say.isPreflight {
        fields += [
          ["Access-Control-Allow-Methods", "GET, POST"],
          ["Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding"],
          ["Access-Control-Max-Age", "600"],
        ]
      }
    }
    orders.append(.answer(id, SyncReplyText(say.status, fields, say.body)))
  }

  mutating func answerPage(_ id: RequestID, _ page: SyncReplyText?) {
    guard let guest = guests.removeValue(forKey: id) else { return }
    counts.answered(
      Self.words[guest.path] ?? "", status: 200, after: guest.since.duration(to: now))
    if let page { orders.append(.answer(id, page)) }
  }

  static let words: [SyncPath: String] = [
    .sync: "sync", .refresh: "sync_refresh", .upload: "sync_upload", .steps: "health_steps",
    .heartRate: "health_heart_rate", .sleep: "health_sleep", .workouts: "health_workouts",
    .periods: "health_periods", .dashboard: "health_dashboard",
  ]

  static let allow: [SyncPath: String] = [
    .sync: "GET, POST, OPTIONS", .refresh: "POST", .upload: "HEAD, PATCH, DELETE, OPTIONS",
    .steps: "GET", .heartRate: "GET", .sleep: "GET", .workouts: "GET", .periods: "GET",
    .dashboard: "GET",
  ]

  // Words of uploads; version 0 is tus.

  static func named(_ version: Int) -> [[String]] {
    version == 0 ? [["Tus-Resumable", "1.0.0"]] : [["Upload-Draft-Interop-Version", "\(version)"]]
  }

  static func ended(_ version: Int, _ ends: Bool) -> [String] {
    version == 3
      ? ["Upload-Incomplete", ends ? "?0" : "?1"] : ["Upload-Complete", ends ? "?1" : "?0"]
  }

  /// What is said of an upload that is not complete.
  static func state(_ version: Int, _ offset: Int?, length: Int? = nil) -> [[String]] {
    var fields = named(version)
    if let offset { fields.append(["Upload-Offset", "\(offset)"]) }
    if let length { fields.append(["Upload-Length", "\(length)"]) }
    return version == 0 ? fields : fields + [ended(version, false)]
  }

  static func limit(_ seconds: Int64 = 86_400) -> [String] {
    ["Upload-Limit", "max-size=4194304, max-age=\(seconds)"]
  }

  static func location(_ name: UUID128) -> [String] {
    ["Location", "/api/sync/upload?id=" + SyncScribe.upper(name).lowercased()]
  }
}
