import HoldfastCore
import HoldfastHealthSamples

// Events: samples that have a value with a name instead of a number. They are counted, in total and
// for each value.
extension HealthAnswer {
  /// Adds an event to the spans to which it belongs.
  mutating func count(
    _ sample: HealthSample, _ values: CategoryValues, _ figure: Figure, _ source: Int
  ) {
    let value: String?
    if values.hasMeaning, case .category(let name) = sample.value {
      value = values.word(of: name)
    } else {
      value = nil
    }
    // The value of the last event is the only one that counts for `latest`.
    let parts = figure == .latest || value == nil ? [value] : [nil, value]
    for owner in owners(source) {
      for part in parts {
        // The anchor is determined for each part, because adding may shorten the window.
        guard let anchor = anchor(of: sample, .atStart) else { return }
        add(owner, bucket(at: anchor), activity: part) { cell in
          cell.take(sample.minutes, for: figure)
          cell.note(sample)
        }
      }
    }
  }

  /// Returns the value of a single event: its name, or its length in minutes if it has none.
  mutating func value(of sample: HealthSample, _ values: CategoryValues) -> HealthPointValue {
    switch sample.value {
    case .category(let name) where values.hasMeaning: .text(values.word(of: name))
    case .quantity(let number) where number.isFinite: .number(rounded(number))
    case .category, .quantity, .workout: .number(rounded(sample.minutes))
    }
  }

  /// Returns the unit of a point's value.
  func unit(of value: HealthPointValue, _ kind: HealthKind, _ dimension: Dimension) -> String {
    if case .text = value { return Dimension.number.unit }
    return dimension == .own ? ownUnit ?? dimension.unit : dimension.unit
  }

  /// Returns the type of a point: a number of events with one value has it at its end, such as
  /// `MENSTRUAL_FLOW_LIGHT`.
  func type(of cell: Cell, _ kind: HealthKind, _ figure: Figure) -> String {
    guard case .event = kind.measure, figure != .latest, let value = cell.activity else {
      return kind.type
    }
    return kind.type + "_" + value
  }

  /// Returns the cells without those of events that are not the last of their source and span.
  func latestEvents(of cells: [Cell]) -> [Cell] {
    guard figures.contains(.latest), kinds.contains(where: { $0.aggregation == .events }) else {
      return cells
    }
    var latest: [Place: Timestamp] = [:]
    for cell in cells where cell.latest != nil {
      let start = cell.latest?.lowerBound ?? cell.bucket.start
      latest[Place(cell)] = max(latest[Place(cell)] ?? start, start)
    }
    return cells.filter { $0.latest?.lowerBound == latest[Place($0)] }
  }

  /// The type, source and span of a cell.
  private struct Place: Hashable {
    var type: Int
    var source: Int
    var start: Timestamp
    var part: CalendarPart?

    init(_ cell: Cell) {
      (type, source, start) = (cell.type, cell.source, cell.bucket.start)
      part = cell.part
    }
  }
}

extension HealthAnswer {
  /// Returns a note if the store has no sample at all of what was asked for. Without it, an answer
  /// without points could also mean that there are samples at other times.
  func absence(_ points: [TimedPoint]) -> [String] {
    guard points.isEmpty, !limits.isExact, !stored.lastSamples.isEmpty,
      stored.firstSynced == nil, stored.unfinished == nil,
      query.valueType.kinds(in: stored).allSatisfy({ stored.lastSamples[$0.identifier] == nil })
    else { return [] }
    let word = query.valueType.rawValue
    return ["\(word) has no data at all here; list_health_types names what has."]
  }
}

extension StoredHealth {
  /// Returns the refusal of a word that stands for no type.
  func unknown(_ valueType: HealthValueType) -> AnswerRefusal {
    let others = lastSamples.keys.filter { HealthType.named($0) == nil }
    return .unknownWord(
      valueType.rawValue, nearest: valueType.nearest(among: others.map { HealthType.word(of: $0) }))
  }
}
