import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// The time zone, the present time, the interval of a question, and the samples in the store.
struct AnswerScenario {
  var zone = ZoneRules.utc
  var now = Timestamp(nanoseconds: 0)
  var start = HealthTime.local(CivilTime(nanoseconds: 0))
  var end = HealthTime.local(CivilTime(nanoseconds: 0))
  /// The bounds of intervals. Samples begin and end near them.
  var edges: [Int64] = []
  /// Whether all bounds are multiples of 15 minutes, so that the shares of samples are exact.
  var isExact = true
  var samples: [HealthSample] = []

  var clock: ReferenceClock { ReferenceClock(zone) }
  var from: Int64 { clock.moment(of: start) }
  var to: Int64 { clock.moment(of: end) }
  /// Whether reading the interval takes many batches of the default length.
  var isLong: Bool { to - from > 400 * ReferenceClock.day }

  /// An eighth of an hour, in nanoseconds.
  static let unit: Int64 = 450_000_000_000
  /// March 29, 2026, a Sunday, as the number of days since 1970-01-01.
  static let day: Int64 = 20_541

  /// Time zones. Most of them change their offset near `day`.
  static let zones: [ZoneRules] = [
    .utc, zone("Europe/Berlin", 3_600, [(0, 3_600, 7_200)]),
    zone("Autumn", 7_200, [(0, 3_600, 3_600)]),
    // Changes across midnight, backward and forward.
    zone("Back", 3_600, [(0, -1_800, 0)]), zone("Forth", -10_800, [(0, 10_800, -7_200)]),
    // Changes at the beginning of a night, and a change by half an hour.
    zone("Evening", 0, [(-1, 75_600, 3_600)]), zone("Early", 0, [(-1, 75_600, -3_600)]),
    zone(nil, 39_600, [(-1, 54_000, 37_800)]),
    // A day that is skipped, and a day that is repeated.
    zone("Pacific/Apia", -36_000, [(0, 36_000, 50_400)]),
    zone("Twice", 43_200, [(0, -43_200, -43_200)]),
    zone("Short", 0, [(-31, 0, 7_200), (0, 7_200, 3_600), (2, 7_200, 5_400)]),
    zone(nil, 20_700, []), zone(nil, 0, []), zone(nil, -1_800, []), zone(nil, -37_800, []),
    zone(nil, 1_172, []),
  ]

  private static func zone(
    _ name: String?, _ first: Int, _ changes: [(day: Int64, second: Int64, east: Int)]
  ) -> ZoneRules {
    let changes = changes.map { change in
      let moment = (day + change.day) * ReferenceClock.day + change.second * ReferenceClock.second
      return ZoneRules.Transition(
        at: Timestamp(nanoseconds: moment), secondsEast: change.east)
    }
    return ZoneRules(initialSecondsEast: first, transitions: changes, name: name)
  }
}

extension RandomQuestions {
  /// Draws a scenario with an interval whose length suits the grouping.
  mutating func scenario(_ grouping: HealthGrouping?, isExact: Bool) -> AnswerScenario {
    var scenario = AnswerScenario()
    scenario.zone = one(
      happens(3) ? AnswerScenario.zones : AnswerScenario.zones.filter { !$0.transitions.isEmpty })
    scenario.isExact = isExact && scenario.zone.initialSecondsEast != 1_172
    let day = AnswerScenario.day + one(grouping == .hour ? [-1, -1, 0] : [-3, -2, -1, -1, 0, 1])
    let lengths: [Int64] =
      switch grouping {
      case .hour: [0, 0, 1, 2]
      case .day, .total, .weekday, .weekpart, .hourOfDay: [0, 1, 1, 2, 3, 9]
      case .week: [1, 7, 14, 20, 31]
      case .month: [7, 31, 62, 93]
      case .year: [31, 93, 366]
      case nil: [0, 1, 3, 31, 93]
      }
    let first = day * ReferenceClock.day + time(isExact)
    var last = (day + one(lengths)) * ReferenceClock.day + time(isExact)
    if last < first, !happens(20) { last = first + ReferenceClock.hour * Int64(number(0...9)) }
    if happens(grouping == nil ? 2 : 12) {
      last = first + Int64(one([31, 93])) * ReferenceClock.day + one([-1, 0, 0, 1])
    }
    scenario.start = moment(first, scenario.clock)
    scenario.end =
      happens(8) ? moment(last, scenario.clock) : like(scenario.start, last, scenario.clock)
    if happens(16) {
      let bounds =
        one([-25_567 * ReferenceClock.day, 84_006 * ReferenceClock.day]) + one([0, -1, 1])
      let bound = HealthTime.instant(Timestamp(nanoseconds: bounds), minutesEast: nil)
      if bounds < 0 { scenario.start = bound } else { scenario.end = bound }
    }
    let isWhole = [scenario.from, scenario.to].allSatisfy { $0 % (2 * AnswerScenario.unit) == 0 }
    scenario.isExact = scenario.isExact && isWhole
    scenario.now = Timestamp(nanoseconds: present(scenario))
    findEdges(&scenario)
    return scenario
  }

  /// Draws a time of day, often near a limit up to which a time counts as midnight.
  private mutating func time(_ isExact: Bool) -> Int64 {
    let second = ReferenceClock.second
    if isExact || happens(3) {
      return one([0, 0, 0, 9, 21, 12, 1, 3, 23]) * ReferenceClock.hour + one([0, 0, 30])
        * ReferenceClock.minute
    }
    let odd = one([300, 300, -60, -359, -360, -360, 1, 1, 2, -1, -1, -2])
    return Int64(odd) * second + one([0, 0, 1, -1])
  }

  /// Draws one of the forms in which a question can state a local time.
  private mutating func moment(_ local: Int64, _ clock: ReferenceClock) -> HealthTime {
    let moment = Timestamp(nanoseconds: clock.moment(of: local))
    return one([
      .local(CivilTime(nanoseconds: local)), .local(CivilTime(nanoseconds: local)),
      .instant(moment, minutesEast: nil), .instant(moment, minutesEast: number(-90...90)),
    ])
  }

  private func like(_ other: HealthTime, _ local: Int64, _ clock: ReferenceClock) -> HealthTime {
    let moment = Timestamp(nanoseconds: clock.moment(of: local))
    return switch other {
    case .local: .local(CivilTime(nanoseconds: local))
    case .instant(_, let minutes): .instant(moment, minutesEast: minutes)
    }
  }

  /// Draws the present time. It is usually after the interval, otherwise near the bound of an
  /// interval.
  private mutating func present(_ scenario: AnswerScenario) -> Int64 {
    let (from, to) = (scenario.from, scenario.to)
    let second = ReferenceClock.second
    guard happens(3) else { return max(from, to) + ReferenceClock.day * Int64(number(0...40)) }
    let near = one([
      from, to, to, scenario.clock.span(to, .day).upper, scenario.clock.span(to, .hour).upper,
      from / 2 + to / 2,
    ])
    return near + one([0, 1, -1, second, -second, -second, second + 1, -second - 1])
  }

  private mutating func findEdges(_ scenario: inout AnswerScenario) {
    let (clock, from, to) = (scenario.clock, scenario.from, scenario.to)
    let changes = scenario.zone.transitions.map(\.at.nanoseconds)
    scenario.edges = [from, from, to, to, scenario.now.nanoseconds] + changes
    for moment in [from, to, from / 2 + to / 2] {
      for grouping in [HealthGrouping.hour, .day, .day, .week, .month, .year] {
        let span = clock.span(moment, grouping)
        scenario.edges += [span.lower, span.upper]
      }
      scenario.edges.append(clock.span(moment, .day, lead: 3 * ReferenceClock.hour).lower)
    }
    if scenario.isExact {
      scenario.edges = scenario.edges.map {
        ReferenceClock.floor($0, AnswerScenario.unit) * AnswerScenario.unit
      }
    }
  }
}
