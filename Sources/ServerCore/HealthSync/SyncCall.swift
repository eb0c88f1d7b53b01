public import LinkCore
import LinkHealth
public import LinkWire

/// Where a request about synced samples goes.
public enum SyncPath: String, Sendable, Hashable, Codable, CaseIterable {
  case sync = "/api/sync"
  case refresh = "/api/sync/refresh"
  case upload = "/api/sync/upload"
  case steps = "/api/health/steps"
  case heartRate = "/api/health/heart-rate"
  case sleep = "/api/health/sleep"
  case workouts = "/api/health/workouts"
  case periods = "/api/health/periods"
  case dashboard = "/health"

  /// Its name in metrics and logs.
  public var word: String {
    switch self {
    case .sync: "sync"
    case .refresh: "sync_refresh"
    case .upload: "sync_upload"
    case .steps: "health_steps"
    case .heartRate: "health_heart_rate"
    case .sleep: "health_sleep"
    case .workouts: "health_workouts"
    case .periods: "health_periods"
    case .dashboard: "health_dashboard"
    }
  }

  /// Whether phones use it, and look for the epoch in its answers.
  var isOfPhones: Bool {
    switch self {
    case .sync, .refresh, .upload: true
    case .steps, .heartRate, .sleep, .workouts, .periods, .dashboard: false
    }
  }

  /// The methods that it takes.
  var allow: String {
    switch self {
    case .sync: "GET, POST, OPTIONS"
    case .refresh: "POST"
    case .upload: "HEAD, PATCH, DELETE, OPTIONS"
    case .steps, .heartRate, .sleep, .workouts, .periods, .dashboard: "GET"
    }
  }
}

/// A person whose samples are synced, as the file of secrets names them.
public struct SyncUser: Sendable, Hashable, Codable {
  /// The name.
  public var name: String
  /// The time zone that days are cut in, such as `Europe/Berlin`; `nil` is the backend's own.
  public var zone: String?

  /// A user from the parts of a line.
  public init(_ name: String, zone: String? = nil) { (self.name, self.zone) = (name, zone) }
}

/// One HTTP request about synced samples: what of it the rules look at.
public struct SyncCall: Sendable, Hashable, Codable {
  /// The path.
  public var path: SyncPath
  /// The method in upper case.
  public var method: String
  /// The value of `Host`.
  public var host: String?
  /// The web page that calls; `nil` if none does.
  public var origin: String?
  /// The value of `Content-Encoding`.
  public var encoding: String?
  /// The days that are asked for: the values of `from` and `to`.
  public var from: String?
  /// The last day, inclusive.
  public var to: String?
  /// Whether it shows a secret, known or not.
  public var showsSecret = false
  /// The phone that asks, as it names itself.
  public var deviceID: String?
  /// What it says about an upload; `nil` if it names no protocol of uploads.
  public var upload: UploadFields?
  /// The upload that it is about.
  public var uploadID: UUID128?
  /// The name of the upload that it may begin; random, since who knows it may go on with it.
  public var candidate: UUID128?
  /// The value of `Content-Type`.
  public var mediaType: String?
  /// Whether it speaks a version of tus that is not known here.
  public var speaksOtherTus = false
  /// As it came.
  public var body: [UInt8]

  /// A request from its parts.
  public init(
    _ method: String, _ path: SyncPath, host: String? = nil, origin: String? = nil,
    encoding: String? = nil, from: String? = nil, to: String? = nil, body: [UInt8] = []
  ) {
    (self.method, self.path, self.host, self.origin) = (method, path, host, origin)
    (self.encoding, self.from, self.to, self.body) = (encoding, from, to, body)
  }

  /// Whether it names a version of tus on a route that takes uploads.
  var isTus: Bool {
    (path == .sync || path == .upload) && (speaksOtherTus || upload?.dialect == .tus)
  }

  /// Reads a request.
  ///
  /// - Parameters:
  ///   - field: Returns the value of a header field by its name in lower case.
  ///   - query: Returns an item of the query.
  ///   - candidate: Makes a random name; called for requests that name a protocol of uploads.
  public init(
    _ method: String, _ path: SyncPath, body: [UInt8] = [], field: (String) -> String?,
    query: (String) -> String?, candidate: () -> UUID128
  ) {
    self.init(
      method, path, host: field("host"), origin: field("origin"),
      encoding: field("content-encoding"), from: query("from"), to: query("to"), body: body)
    showsSecret = field("authorization") != nil
    if path == .sync { deviceID = query("deviceId") }
    let tus = field("tus-resumable")
    speaksOtherTus = tus != nil && tus != UploadDialect.tusVersion
    upload = UploadFields { field($0.lowercased()) }
    guard let upload else { return }
    // A body that is all there is tells the length of the upload.
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

/// What became of a request that needs the store.
public enum SyncOutcome: Sendable, Hashable, Codable {
  case stored(SyncTally)
  /// The newest stamp of a batch of the phone.
  case stamped(Timestamp?)
  /// The store can serve.
  case checked
  /// The body of an answer.
  case told([UInt8])
  /// The request makes no sense; for people.
  case refused(reason: String)
  /// The body is longer than so many bytes once it is decompressed.
  case tooLong(limit: Int)
  case failed(StoreFailure)
  /// So many bytes of an upload are stored.
  case kept(Int)
  /// So many bytes of an upload are stored, and the batch is not.
  case unfinished(Int, StoreFailure)
}

/// The days of an answer, as they are asked for.
public struct SyncSpan: Sendable, Hashable, Codable {
  /// Midnight of the first day on the user's clock; `nil` is 29 days before the last one.
  public var first: CivilTime?
  /// Midnight of the last day; `nil` is today.
  public var last: CivilTime?

  /// The most days of an answer: ten years.
  public static let mostDays = 3_653

  /// The span from its ends; the last 30 days by default.
  public init(first: CivilTime? = nil, last: CivilTime? = nil) {
    (self.first, self.last) = (first, last)
  }

  /// Reads the two days of a query; `nil` if one of them is no date such as `2026-01-31`.
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
