public import HoldfastCore
import HoldfastHealth
public import HoldfastServerParts
public import HoldfastSyncData
public import HoldfastUploads

/// The route of a request about synced samples.
public enum SyncPath: String, Sendable, Hashable, Codable, CaseIterable {
  case sync = "/api/sync"
  case refresh = "/api/sync/refresh"
  case upload = "/api/sync/upload"
  case steps = "/api/health/steps"
  case heartRate = "/api/health/heart-rate"
  case sleep = "/api/health/sleep"
  case workouts = "/api/health/workouts"
  case periods = "/api/health/periods"
  case daily = "/api/health/daily"
  case summary = "/api/health/summary"
  case types = "/api/health/types"
  case dashboard = "/health"

  /// The name of the route in metrics and logs.
  public var name: String {
    switch self {
    case .sync: "sync"
    case .refresh: "sync_refresh"
    case .upload: "sync_upload"
    case .steps: "health_steps"
    case .heartRate: "health_heart_rate"
    case .sleep: "health_sleep"
    case .workouts: "health_workouts"
    case .periods: "health_periods"
    case .daily: "health_daily"
    case .summary: "health_summary"
    case .types: "health_types"
    case .dashboard: "health_dashboard"
    }
  }

  /// Whether phones use the route and expect the epoch in its responses.
  var isOfPhones: Bool {
    switch self {
    case .sync, .refresh, .upload: true
    case .steps, .heartRate, .sleep, .workouts, .periods, .daily, .summary, .types, .dashboard:
      false
    }
  }

  /// The methods that the route accepts.
  var allow: String {
    switch self {
    case .sync: "GET, POST, OPTIONS"
    case .refresh: "POST"
    case .upload: "HEAD, PATCH, DELETE, OPTIONS"
    case .steps, .heartRate, .sleep, .workouts, .periods, .daily, .summary, .types, .dashboard:
      "GET"
    }
  }
}

/// A person whose samples are synced. The file of secrets contains the person's name.
public struct SyncUser: Sendable, Hashable, Codable {
  /// The name of the person.
  public var name: String
  /// The time zone that defines days, such as `Europe/Berlin`; `nil` means the backend's own time
  /// zone.
  public var zone: String?

  /// Creates a user from the parts of a line.
  public init(_ name: String, zone: String? = nil) { (self.name, self.zone) = (name, zone) }
}

/// An HTTP request about synced samples, reduced to the parts that the rules use.
public struct SyncCall: Sendable, Hashable, Codable {
  /// The route.
  public var path: SyncPath
  /// The method, in upper case.
  public var method: String
  /// The address of the client; an IPv6 address is reduced to its /64 prefix.
  public var address = ""
  /// The value of `Host`.
  public var host: String?
  /// The origin of the web page that sent the request, or `nil` if it came from no page.
  public var origin: String?
  /// The value of `Content-Encoding`.
  public var encoding: String?
  /// The first requested day: the value of `from`.
  public var from: String?
  /// The last requested day, inclusive: the value of `to`.
  public var to: String?
  /// The requested type of samples: the value of `type`.
  public var type: String?
  /// A Boolean value that indicates whether the request contains a secret, valid or not.
  public var showsSecret = false
  /// The hash of a secret that is no user's.
  public var wrongSecret: TokenHash?
  /// The refusal of a token of an identity provider, which the request has in place of a secret.
  ///
  /// A request with a valid token has a user and shows no secret, since a token cannot be guessed.
  public var refusedToken: CredentialFault?
  /// The phone's own identifier.
  public var deviceID: String?
  /// The header fields about an upload, or `nil` if the request does not name an upload protocol.
  public var upload: UploadFields?
  /// The id of the upload that the request is about.
  public var uploadID: UUID128?
  /// The id of the upload that the request may create.
  ///
  /// The id must be random, because anyone who has it can resume the upload.
  public var candidate: UUID128?
  /// The value of `Content-Type`.
  public var mediaType: String?
  /// A Boolean value that indicates whether the request names an unsupported version of tus.
  public var speaksOtherTus = false
  /// The received body.
  public var body: [UInt8]

  /// Creates a request from its parts.
  public init(
    _ method: String, _ path: SyncPath, host: String? = nil, origin: String? = nil,
    encoding: String? = nil, from: String? = nil, to: String? = nil, body: [UInt8] = []
  ) {
    (self.method, self.path, self.host, self.origin) = (method, path, host, origin)
    (self.encoding, self.from, self.to, self.body) = (encoding, from, to, body)
  }

  /// Whether the request names a version of tus on a route that accepts uploads.
  var isTus: Bool {
    (path == .sync || path == .upload) && (speaksOtherTus || upload?.dialect == .tus)
  }

  /// Creates a call from a received request.
  ///
  /// - Parameters:
  /// - field: A function that returns the value of a header field, given its name in lower case.
  /// - query: A function that returns an item of the query.
  /// - candidate: A function that returns a random id, called if an upload protocol is named.
  public init(
    _ method: String, _ path: SyncPath, body: [UInt8] = [], field: (String) -> String?,
    query: (String) -> String?, candidate: () -> UUID128
  ) {
    self.init(
      method, path, host: field("host"), origin: field("origin"),
      encoding: field("content-encoding"), from: query("from"), to: query("to"), body: body)
    showsSecret = field("authorization") != nil
    if path == .sync { deviceID = query("deviceId") }
    if path == .daily { type = query("type") }
    let tus = field("tus-resumable")
    speaksOtherTus = tus != nil && tus != UploadDialect.tusVersion
    upload = UploadFields { field($0.lowercased()) }
    guard let upload else { return }
    // A complete body determines the length of the upload.
    if upload.isComplete == true, upload.length == nil, path == .sync {
      self.upload?.length = field("content-length").flatMap { Int($0) }
    }
    uploadID = query("id").flatMap { UUID128($0) }
    self.candidate = candidate()
    mediaType = field("content-type").map { type in
      type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
  }
}

/// The outcome of a request that needs the store.
public enum SyncOutcome: Sendable, Hashable, Codable {
  case stored(IngestCounts)
  /// The newest timestamp of the phone's batches, or `nil` if there are none.
  case stamped(Timestamp?)
  /// The store works.
  case checked
  /// The body of a report.
  case reported([UInt8])
  /// The request is invalid. The reason is human-readable.
  case refused(reason: String)
  /// The decompressed body is longer than `limit` bytes.
  case tooLong(limit: Int)
  case failed(StoreFailure)
  /// The bytes of an upload are stored. The upload now has the given size.
  case written(Int)
  /// The given number of bytes of an upload are stored, but its batch is not.
  case unfinished(Int, StoreFailure)
}

/// The days of a report, as requested, and what else the report is about.
public struct SyncSpan: Sendable, Hashable, Codable {
  /// Midnight of the first day in local time; `nil` means 29 days before the last day.
  public var first: CivilTime?
  /// Midnight of the last day in local time; `nil` means today.
  public var last: CivilTime?
  /// HealthKit's identifier of the requested type, for a report about one type.
  public var type: String?
  /// The number of the user's unfinished uploads, for a summary.
  public var unfinished: Int?

  /// The maximum length of a type's identifier in bytes.
  public static let maxTypeBytes = 200

  /// The maximum number of days in a report: ten years.
  public static let mostDays = 3_653

  /// Creates a span from its first and last day. The default is the last 30 days.
  public init(first: CivilTime? = nil, last: CivilTime? = nil) {
    (self.first, self.last) = (first, last)
  }

  /// Creates a span from a query. Returns `nil` if a value is not a date such as `2026-01-31`.
  init?(from: String?, to: String?) {
    self.init()
    if let from {
      guard let day = Self.day(from) else { return nil }
      first = day
    }
    if let to {
      guard let day = Self.day(to) else { return nil }
      last = day
    }
  }

  private static func day(_ text: String) -> CivilTime? {
    guard text.utf8.count == 10, case .local(let day) = HealthTime(text) else { return nil }
    return day
  }
}
