import HoldfastCore

/// An element of an export that the reader uses or counts separately.
enum ExportElement: UInt8, CaseIterable {
  case unknown
  case healthData, exportDate, me
  case record, correlation, metadata
  case beats, beat
  case workout, workoutEvent, workoutStatistics, workoutActivity, workoutRoute
  case fileReference, location
  case activitySummary, clinicalRecord, audiogram, sensitivityPoint
  case visionPrescription, rightEye, leftEye, attachment

  /// The name of the element in the export.
  var spelling: String {
    switch self {
    case .unknown: ""
    case .healthData: "HealthData"
    case .exportDate: "ExportDate"
    case .me: "Me"
    case .record: "Record"
    case .correlation: "Correlation"
    case .metadata: "MetadataEntry"
    case .beats: "HeartRateVariabilityMetadataList"
    case .beat: "InstantaneousBeatsPerMinute"
    case .workout: "Workout"
    case .workoutEvent: "WorkoutEvent"
    case .workoutStatistics: "WorkoutStatistics"
    case .workoutActivity: "WorkoutActivity"
    case .workoutRoute: "WorkoutRoute"
    case .fileReference: "FileReference"
    case .location: "Location"
    case .activitySummary: "ActivitySummary"
    case .clinicalRecord: "ClinicalRecord"
    case .audiogram: "Audiogram"
    case .sensitivityPoint: "SensitivityPoint"
    case .visionPrescription: "VisionPrescription"
    case .rightEye: "RightEye"
    case .leftEye: "LeftEye"
    case .attachment: "Attachment"
    }
  }
}

/// An attribute that the reader uses.
enum ExportAttribute: UInt8, CaseIterable {
  case ignored
  case type, unit, value, source, device, start, end, key
  case activity, duration, durationUnit, distance, distanceUnit, energy, energyUnit, sum, locale
  case created

  /// The names of the attribute, including the name in iOS 8 if that is different.
  var spellings: [String] {
    switch self {
    case .ignored: []
    case .type: ["type"]
    case .unit: ["unit"]
    case .value: ["value"]
    case .source: ["sourceName", "source"]
    case .device: ["device"]
    case .start: ["startDate"]
    case .end: ["endDate"]
    case .key: ["key"]
    case .activity: ["workoutActivityType"]
    case .duration: ["duration"]
    case .durationUnit: ["durationUnit"]
    case .distance: ["totalDistance"]
    case .distanceUnit: ["totalDistanceUnit"]
    case .energy: ["totalEnergyBurned"]
    case .energyUnit: ["totalEnergyBurnedUnit"]
    case .sum: ["sum"]
    case .locale: ["locale"]
    case .created: ["creationDate"]
    }
  }
}

/// A table that looks up known words by their bytes, without creating strings.
///
/// Words are distinguished by their length and by their first and last eight bytes.
struct ExportKeywords {
  private struct Entry {
    var first: UInt64 = 0
    var last: UInt64 = 0
    var length = 0
    var meaning: UInt8 = 0
  }

  private var entries: [Entry]

  /// Creates a table of words.
  ///
  /// - Parameter keywords: At most 32 words with their meanings. The meaning 0 is reserved for
  ///   unknown words.
  init(_ keywords: [(String, UInt8)]) {
    entries = Array(repeating: Entry(), count: 64)
    for (text, meaning) in keywords {
      let bytes = ArraySlice(text.utf8)
      let (first, last) = Self.ends(of: bytes.span, from: 0, to: bytes.count)
      var slot = Self.slot(first, last, bytes.count)
      while entries[slot].meaning != 0 { slot = (slot + 1) & 63 }
      entries[slot] = Entry(first: first, last: last, length: bytes.count, meaning: meaning)
    }
  }

  static let elements = ExportKeywords(
    ExportElement.allCases.dropFirst().map { ($0.spelling, $0.rawValue) })
  static let attributes = ExportKeywords(
    ExportAttribute.allCases.flatMap { attribute in
      attribute.spellings.map { ($0, attribute.rawValue) }
    })

  /// Returns the meaning of a word, or 0 if it is unknown.
  @inline(__always)
  func meaning(of bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt8 {
    let (first, last) = Self.ends(of: bytes, from: start, to: end)
    let length = end &- start
    var slot = Self.slot(first, last, length)
    while true {
      let entry = entries[slot]
      if entry.first == first, entry.last == last, entry.length == length { return entry.meaning }
      if entry.meaning == 0 { return 0 }
      slot = (slot &+ 1) & 63
    }
  }

  @inline(__always)
  private static func ends(
    of bytes: Span<UInt8>, from start: Int, to end: Int
  ) -> (first: UInt64, last: UInt64) {
    let first = bytes.word(at: start, before: end)
    return (first, end &- start < 8 ? first : bytes.word(at: end &- 8))
  }

  @inline(__always)
  private static func slot(_ first: UInt64, _ last: UInt64, _ length: Int) -> Int {
    let mixed = (first ^ (last &<< 1) ^ UInt64(length)) &* 0x9E37_79B9_7F4A_7C15
    return Int(mixed &>> 58)
  }
}
