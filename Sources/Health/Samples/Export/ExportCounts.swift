public import HoldfastCore

/// The counts of the parts of an export that a reader found and of those that it omitted, with
/// reasons.
public struct ExportCounts: Sendable, Hashable {
  /// The number in `HealthKit Export Version: N`. Versions 3 to 14 have been seen.
  public internal(set) var version: Int?
  /// The locale of the phone, such as `en_US`.
  public internal(set) var locale: String?
  /// The time at which the phone wrote the export.
  public internal(set) var exported: Timestamp?
  /// Whether the export is complete. If it is false, the end is missing.
  public internal(set) var isWhole = false
  /// The number of bytes read.
  public internal(set) var bytes = 0
  /// The number of samples read of each type, by HealthKit's identifier.
  public internal(set) var samples: [String: Int] = [:]
  /// The number of records of each type that were omitted, by HealthKit's identifier.
  public internal(set) var skippedOfType: [String: Int] = [:]
  /// The number of texts from which control bytes or invalid UTF-8 were removed.
  public internal(set) var repaired = 0
  /// Whether the file contains something that never occurs in exports, such as text between
  /// elements.
  var isDamaged = false
  /// The types of elements that may be samples with a damaged name.
  var unreadTypes: Set<String> = []
  private var counts = [Int](repeating: 0, count: HealthExportSkip.allCases.count)

  init() {}

  /// The number of parts that were omitted for a reason.
  public internal(set) subscript(_ reason: HealthExportSkip) -> Int {
    get { counts[reason.index] }
    set { counts[reason.index] = newValue }
  }

  /// The counts of all omitted parts, in the order of the reasons.
  public var skipped: [(reason: HealthExportSkip, count: Int)] {
    HealthExportSkip.allCases.map { ($0, self[$0]) }.filter { $0.count > 0 }
  }

  /// The types of which the export may contain unread samples, or `nil` if these may be of any
  /// type.
  public var unread: Set<String>? {
    let ofAnyType: [HealthExportSkip] = [.noType, .malformed, .tooLong, .cutOff]
    guard !isDamaged, ofAnyType.allSatisfy({ self[$0] == 0 }) else { return nil }
    return unreadTypes.union(skippedOfType.keys)
  }

  /// The total number of samples read.
  public var total: Int { samples.values.reduce(0, +) }
}

/// The reason why a part of an export did not become a sample.
public enum HealthExportSkip: String, Sendable, Hashable, CaseIterable {
  case noType, noDate, noValue, endsEarly
  case malformed, tooLong, cutOff
  case correlation, metadata, heartbeat, workoutDetail, route
  case activitySummary, clinicalRecord, audiogram, prescription
  case unknown

  /// A human-readable description of the part and of the reason.
  public var text: String {
    switch self {
    case .noType: "records without a type or a source"
    case .noDate: "records whose dates cannot be read"
    case .noValue: "records whose value is not a number"
    case .endsEarly: "records that end before they begin, or last for centuries"
    case .malformed: "tags that cannot be read"
    case .tooLong: "tags longer than 64 KiB"
    case .cutOff: "tags cut off by the end of the file"
    case .correlation: "correlations, whose records are kept one by one"
    case .metadata: "metadata entries other than the time zone"
    case .heartbeat: "single heartbeats of a variability"
    case .workoutDetail: "events and parts of workouts"
    case .route: "routes and their places"
    case .activitySummary: "activity summaries, which add up what is kept"
    case .clinicalRecord: "clinical records"
    case .audiogram: "audiograms"
    case .prescription: "vision prescriptions"
    case .unknown: "elements that are not known"
    }
  }

  fileprivate var index: Int { Self.indices[self] ?? 0 }

  private static let indices = Dictionary(
    uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}

/// The reason why bytes are not an export.
public enum HealthExportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The bytes are empty or not XML.
  case empty
  /// The bytes are XML of a different kind, with this root element.
  case foreign(element: String)
  /// The bytes have a different format that can contain an export.
  case disguised(ExportDisguise)

  public var description: String {
    switch self {
    case .empty: "there is no element HealthData in it"
    case .foreign(let element): "it holds \(element), not HealthData"
    case .disguised(let disguise): disguise.advice
    }
  }
  /// Advice on what to do, or `nil` if the description includes it.
  public var remedy: String? {
    switch self {
    case .empty, .foreign: Self.exportAgain
    case .disguised: nil
    }
  }

  /// Instructions for obtaining an export from a phone.
  public static let exportAgain =
    "use the zip file from the phone: Health, your picture, Export All Health Data"
}
