public import LinkCore

/// What a reader found in an export, and what it left out and why.
public struct HealthExportTally: Sendable, Hashable {
  /// The number in `HealthKit Export Version: N`; 3 to 14 have been seen.
  public internal(set) var version: Int?
  /// The locale of the phone, such as `en_US`.
  public internal(set) var locale: String?
  /// When the phone wrote it.
  public internal(set) var exported: Timestamp?
  /// Whether it ends where an export ends; otherwise its tail is missing.
  public internal(set) var isWhole = false
  /// How many bytes have been read.
  public internal(set) var bytes = 0
  /// How many samples were read of each type, by HealthKit's identifier.
  public internal(set) var samples: [String: Int] = [:]
  /// How many records of each type were left out, by HealthKit's identifier.
  public internal(set) var skippedOfType: [String: Int] = [:]
  /// Texts from which control bytes or broken UTF-8 were taken.
  public internal(set) var repaired = 0
  /// Whether it holds what no export holds, such as text between its elements.
  var isDamaged = false
  /// The types of elements that may be samples with a damaged name.
  var unreadTypes: Set<String> = []
  private var counts = [Int](repeating: 0, count: HealthExportSkip.allCases.count)

  init() {}

  /// How often something was left out for this reason.
  public internal(set) subscript(_ reason: HealthExportSkip) -> Int {
    get { counts[reason.place] }
    set { counts[reason.place] = newValue }
  }

  /// What was left out at all, in the order of the reasons.
  public var skipped: [(reason: HealthExportSkip, count: Int)] {
    HealthExportSkip.allCases.map { ($0, self[$0]) }.filter { $0.count > 0 }
  }

  /// The types of which samples may stand in the export that were not read; `nil` if they may be of
  /// any type.
  public var unread: Set<String>? {
    let ofAnyType: [HealthExportSkip] = [.noType, .malformed, .tooLong, .cutOff]
    guard !isDamaged, ofAnyType.allSatisfy({ self[$0] == 0 }) else { return nil }
    return unreadTypes.union(skippedOfType.keys)
  }

  /// All samples read.
  public var total: Int { samples.values.reduce(0, +) }
}

/// Why a part of an export did not become a sample.
public enum HealthExportSkip: String, Sendable, Hashable, CaseIterable {
  case noType, noDate, noValue, endsEarly
  case malformed, tooLong, cutOff
  case correlation, metadata, heartbeat, workoutDetail, route
  case activitySummary, clinicalRecord, audiogram, prescription
  case unknown

  /// For people: what it was, and why it was left out.
  public var text: String {
    switch self {
    case .noType: "records without a type or a source"
    case .noDate: "records whose dates cannot be read"
    case .noValue: "records whose value is no number"
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

  fileprivate var place: Int { Self.places[self] ?? 0 }

  private static let places = Dictionary(
    uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}

/// Why bytes are no export.
public enum HealthExportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Nothing, or nothing like XML.
  case empty
  /// XML of another kind; its first element.
  case foreign(element: String)
  /// Something that an export can be made of.
  case disguised(ExportDisguise)

  public var description: String {
    switch self {
    case .empty: "there is no element HealthData in it"
    case .foreign(let element): "it holds \(element), not HealthData"
    case .disguised(let disguise): disguise.advice
    }
  }
  /// What to do about it; `nil` where the description says it.
  public var remedy: String? {
    switch self {
    case .empty, .foreign: Self.exportAgain
    case .disguised: nil
    }
  }

  /// Where a person finds an export.
  public static let exportAgain =
    "use the zip file from the phone: Health, your picture, Export All Health Data"
}
