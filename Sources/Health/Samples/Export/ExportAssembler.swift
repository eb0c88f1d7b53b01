import HoldfastCore

/// A builder that creates samples from elements and groups them into batches.
struct ExportAssembler: Sendable {
  /// A sample whose element is still open.
  private enum Open {
    case none
    case record(HealthRow)
    case workout(HealthRow, ExportWorkout)
  }

  /// The number of rows from which a batch is ready at the end of a span.
  static let fullBatch = 8_192
  /// The mask for the lowest bits of a key. If all of these bits are 0, as in one of 1,024 keys on
  /// average, the key ends a span.
  private static let spanMask: UInt64 = 1_023
  /// The maximum length of a span. It keeps batches small.
  private static let longestSpan = 8_192

  var counts = ExportCounts()
  private(set) var isReady = false
  private var open = Open.none
  /// The nesting depth of workout activities. Their figures are not those of the complete workout.
  private var parts = 0
  private var names = ExportNames()
  private var time = ExportTime()
  /// The parser of creation dates. It is separate because the days of creation differ from those of
  /// the samples.
  private var creationTime = ExportTime()
  /// The creation date of the current sample, if the export contains it.
  private var created: Timestamp?
  private var rows: [HealthRow] = []
  private var workouts: [WorkoutValue] = []
  private var spans: [HealthSpan] = []
  private var digest = HealthSampleKeyHasher()
  private var spanCount = 0
  private var countsByType: [Int] = []

  /// Handles a start tag.
  @inline(__always)
  mutating func start(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    switch tag.element {
    case .record: record(tag, bytes)
    case .metadata: metadata(tag, bytes)
    case .beats, .beat: counts[.heartbeat] += tag.element == .beat ? 1 : 0
    case .healthData, .exportDate, .me, .correlation, .workout, .workoutEvent, .workoutStatistics,
      .workoutActivity, .workoutRoute, .fileReference, .location, .activitySummary,
      .clinicalRecord, .audiogram, .sensitivityPoint, .visionPrescription, .rightEye, .leftEye,
      .attachment, .unknown:
      rare(tag, bytes)
    }
    if names.isFull { makeRoom() }
  }

  /// Handles an end tag. Only the end tags of samples, workout activities and the root have an
  /// effect.
  @inline(__always)
  mutating func close(_ bytes: Span<UInt8>, _ name: Range<Int>) {
    let meaning = ExportKeywords.elements.meaning(
      of: bytes, from: name.lowerBound, to: name.upperBound)
    guard let element = ExportElement(rawValue: meaning) else { return }
    if element == .record || element == .workout {
      finishOpen()
    } else if element == .workoutActivity {
      parts = max(0, parts - 1)
    } else if element == .healthData {
      finishOpen()
      counts.isWhole = true
    }
  }

  /// Returns the batch that is ready, and begins the next one.
  mutating func take() -> HealthBatch {
    let batch = HealthBatch(names: names.names, rows: rows, workouts: workouts, spans: spans)
    for (type, count) in countsByType.enumerated() where count > 0 {
      counts.samples[names.names[type].text, default: 0] += count
    }
    countsByType = []
    rows = []
    rows.reserveCapacity(batch.rows.count)
    workouts = []
    spans = []
    counts.repaired = names.repaired
    isReady = false
    if names.isFull { makeRoom() }
    return batch
  }

  /// Returns the remaining rows at the end of the export, or `nil` if there are none.
  mutating func takeRest() -> HealthBatch? {
    finishOpen()
    endSpan()
    counts.repaired = names.repaired
    return rows.isEmpty ? nil : take()
  }

  // MARK: Samples

  @inline(__always)
  private mutating func record(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    finishOpen()
    guard let type = tag[.type], !type.isEmpty, let source = tag[.source] else {
      counts[.noType] += 1
      return
    }
    guard var row = row(tag, bytes, type: names.number(bytes, type), source: source) else { return }
    let value = tag[.value] ?? 0..<0
    if bytes.holds("HKCategoryType", at: type.lowerBound) {
      row.value = .category(names.number(bytes, value))
    } else {
      guard let quantity = ExportNumber.read(bytes, value) else { return skip(row.type, .noValue) }
      row.value = .quantity(quantity)
      row.unit = names.optionalNumber(bytes, tag[.unit])
    }
    row.key = row.key(names: names.names, workouts: [], created: created)
    if tag.isEmpty { keep(row) } else { open = .record(row) }
  }

  private mutating func workout(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    finishOpen()
    parts = 0
    guard let activity = tag[.activity], !activity.isEmpty, let source = tag[.source] else {
      counts[.noType] += 1
      return
    }
    let type = names.number(of: HealthSample.workoutType)
    guard var row = row(tag, bytes, type: type, source: source) else { return }
    let workout = ExportWorkout(tag, bytes)
    row.value = .workout(0)
    row.key = row.key(names: names.names, workouts: [workout.value], created: created)
    if tag.isEmpty { keep(row, workout.value) } else { open = .workout(row, workout) }
  }

  /// Returns a row with the values that records and workouts have in common, or `nil` if a date is
  /// invalid.
  @inline(__always)
  private mutating func row(
    _ tag: borrowing ExportTag, _ bytes: Span<UInt8>, type: UInt16, source: Range<Int>
  ) -> HealthRow? {
    guard let startText = tag[.start], let start = time.read(bytes, startText),
      let endText = tag[.end], let end = time.read(bytes, endText)
    else {
      skip(type, .noDate)
      return nil
    }
    // No store accepts a sample whose length in nanoseconds exceeds an `Int64`.
    let isShort = !end.nanoseconds.subtractingReportingOverflow(start.nanoseconds).overflow
    guard start <= end, isShort else {
      skip(type, .endsEarly)
      return nil
    }
    created = nil
    if let text = tag[.created] {
      guard let read = creationTime.read(bytes, text) else {
        skip(type, .noDate)
        return nil
      }
      created = read
    }
    var row = HealthRow(
      type: type, source: names.number(bytes, source), start: start, end: end)
    row.device = names.optionalNumber(bytes, tag[.device], as: .device)
    return row
  }

  /// Counts an omitted record of a known type.
  private mutating func skip(_ type: UInt16, _ reason: HealthExportSkip) {
    counts[reason] += 1
    counts.skippedOfType[names.names[Int(type)].text, default: 0] += 1
  }

  @inline(__always)
  private mutating func metadata(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    guard let key = tag[.key], key.count == 10, bytes.holds("HKTimeZone", at: key.lowerBound),
      let value = tag[.value]
    else {
      counts[.metadata] += 1
      return
    }
    let zone = names.optionalNumber(bytes, value)
    switch open {
    case .none: break
    case .record(var row):
      row.zone = zone
      open = .record(row)
    case .workout(var row, let workout):
      row.zone = zone
      open = .workout(row, workout)
    }
  }

  private mutating func finishOpen() {
    switch open {
    case .none: return
    case .record(let row): keep(row)
    case .workout(let row, let workout): keep(row, workout.value)
    }
    open = .none
  }

  private mutating func keep(_ row: HealthRow, _ workout: WorkoutValue) {
    var row = row
    row.value = .workout(UInt32(workouts.count))
    workouts.append(workout)
    keep(row)
  }

  @inline(__always)
  private mutating func keep(_ row: HealthRow) {
    rows.append(row)
    let type = Int(row.type)
    while countsByType.count <= type { countsByType.append(0) }
    countsByType[type] &+= 1
    digest.add(row.key)
    spanCount &+= 1
    guard row.key.low & Self.spanMask == 0 || spanCount == Self.longestSpan else { return }
    endSpan()
    isReady = rows.count >= Self.fullBatch
  }

  /// Starts a new list of names once no row uses the numbers of the old list.
  private mutating func makeRoom() {
    guard rows.isEmpty else {
      endSpan()
      isReady = true
      return
    }
    let old = names.names
    names.begin()
    switch open {
    case .none: break
    case .record(let row): open = .record(renumbered(row, old))
    case .workout(let row, let workout): open = .workout(renumbered(row, old), workout)
    }
  }

  private mutating func renumbered(_ row: HealthRow, _ old: [HealthName]) -> HealthRow {
    var row = row
    for part in [\HealthRow.type, \.unit, \.source, \.device, \.zone]
    where row[keyPath: part] != HealthRow.none {
      row[keyPath: part] = names.number(of: old[Int(row[keyPath: part])].text)
    }
    if case .category(let name) = row.value {
      row.value = .category(names.number(of: old[Int(name)].text))
    }
    return row
  }

  private mutating func endSpan() {
    guard spanCount > 0 else { return }
    spans.append(HealthSpan(digest: digest.finished(), count: spanCount))
    digest = HealthSampleKeyHasher()
    spanCount = 0
  }

  // MARK: The rest

  private mutating func rare(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    switch tag.element {
    case .healthData: counts.locale = tag[.locale].map { ExportText(bytes, $0).text }
    case .exportDate: counts.exported = tag[.value].flatMap { time.read(bytes, $0) }
    case .workout: workout(tag, bytes)
    case .workoutStatistics: statistics(tag, bytes)
    case .workoutActivity:
      parts += tag.isEmpty ? 0 : 1
      counts[.workoutDetail] += 1
    case .workoutEvent: counts[.workoutDetail] += 1
    case .workoutRoute: counts[.route] += 1
    case .fileReference, .location: counts[.route] += 1
    case .correlation:
      finishOpen()
      counts[.correlation] += 1
    case .activitySummary: counts[.activitySummary] += 1
    case .clinicalRecord: counts[.clinicalRecord] += 1
    case .audiogram: counts[.audiogram] += 1
    case .visionPrescription: counts[.prescription] += 1
    case .unknown: unknown(tag, bytes)
    case .me, .sensitivityPoint, .rightEye, .leftEye, .attachment, .record, .metadata, .beats,
      .beat:
      break
    }
  }

  /// Counts an element with an unknown name. If it has the attributes of a sample, it may be a
  /// sample with a damaged name.
  private mutating func unknown(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    counts[.unknown] += 1
    guard tag[.start] != nil, tag[.end] != nil, tag[.source] != nil else { return }
    if tag[.activity] != nil {
      counts.unreadTypes.insert(HealthSample.workoutType)
    } else if let type = tag[.type] {
      counts.unreadTypes.insert(ExportText(bytes, type).text)
    }
  }

  private mutating func statistics(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    guard parts == 0, case .workout(let row, var workout) = open else { return }
    workout.add(tag, bytes)
    open = .workout(row, workout)
  }
}
