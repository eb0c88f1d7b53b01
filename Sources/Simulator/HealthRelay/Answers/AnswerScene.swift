import LinkCore
import LinkHealth

/// A zone, the present, and the time that is asked about.
struct AnswerScene {
  var zone = ZoneRules.utc
  var now = Timestamp(nanoseconds: 0)
  var start = HealthTime.local(CivilTime(nanoseconds: 0))
  var end = HealthTime.local(CivilTime(nanoseconds: 0))
  /// Moments near which something changes.
  var edges: [Int64] = []
  /// Whether all spans are whole quarters of an hour apart, so that shares of samples are exact.
  var isExact = true
  var samples: [HealthSample] = []

  var clock: AnswerClock { AnswerClock(zone) }
  var from: Int64 { clock.moment(of: start) }
  var to: Int64 { clock.moment(of: end) }
  /// Whether it would be read in many stretches of the usual length.
  var isLong: Bool { to - from > 400 * AnswerClock.day }

  /// Half a quarter of an hour.
  static let unit: Int64 = 450_000_000_000
  /// The 29th of March 2026, a Sunday.
  static let day: Int64 = 20_541

  /// Zones, some of which change their clocks near that day.
  static let zones: [ZoneRules] = [
    .utc, zone("Europe/Berlin", 3_600, [(0, 3_600, 7_200)]),
    zone("Autumn", 7_200, [(0, 3_600, 3_600)]),
    // Over midnight, back and forth.
    zone("Back", 3_600, [(0, -1_800, 0)]), zone("Forth", -10_800, [(0, 10_800, -7_200)]),
    // At the beginning of a night.
    zone("Evening", 0, [(-1, 75_600, 3_600)]), zone("Early", 0, [(-1, 75_600, -3_600)]),
    zone(nil, 39_600, [(-1, 54_000, 37_800)]),
    // A day is left out, or comes twice.
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
      let moment = (day + change.day) * AnswerClock.day + change.second * AnswerClock.second
      return ZoneRules.Transition(
        at: Timestamp(nanoseconds: moment), secondsEast: change.east)
    }
    return ZoneRules(initialSecondsEast: first, transitions: changes, name: name)
  }
}

extension HealthAnswerWalk {
  /// Returns a scene whose time suits spans of this length.
  mutating func scene(_ grouping: HealthGrouping?, isExact: Bool) -> AnswerScene {
    var scene = AnswerScene()
    scene.zone = one(
      happens(3) ? AnswerScene.zones : AnswerScene.zones.filter { !$0.transitions.isEmpty })
    scene.isExact = isExact && scene.zone.initialSecondsEast != 1_172
    let day = AnswerScene.day + one(grouping == .hour ? [-1, -1, 0] : [-3, -2, -1, -1, 0, 1])
    let lengths: [Int64] =
      switch grouping {
      case .hour: [0, 0, 1, 2]
      case .day, .total: [0, 1, 1, 2, 3, 9]
      case .week: [1, 7, 14, 20, 31]
      case .month: [7, 31, 62, 93]
      case nil: [0, 1, 3, 31, 93]
      }
    let first = day * AnswerClock.day + time(isExact)
    var last = (day + one(lengths)) * AnswerClock.day + time(isExact)
    if last < first, !happens(20) { last = first + AnswerClock.hour * Int64(number(0...9)) }
    if happens(grouping == nil ? 2 : 12) {
      last = first + Int64(one([31, 93])) * AnswerClock.day + one([-1, 0, 0, 1])
    }
    scene.start = moment(first, scene.clock)
    scene.end = happens(8) ? moment(last, scene.clock) : like(scene.start, last, scene.clock)
    if happens(16) {
      let bounds = one([-25_567 * AnswerClock.day, 84_006 * AnswerClock.day]) + one([0, -1, 1])
      let bound = HealthTime.instant(Timestamp(nanoseconds: bounds), minutesEast: nil)
      if bounds < 0 { scene.start = bound } else { scene.end = bound }
    }
    let isWhole = [scene.from, scene.to].allSatisfy { $0 % (2 * AnswerScene.unit) == 0 }
    scene.isExact = scene.isExact && isWhole
    scene.now = Timestamp(nanoseconds: present(scene))
    findEdges(&scene)
    return scene
  }

  /// Draws a time of day, near bounds.
  private mutating func time(_ isExact: Bool) -> Int64 {
    let second = AnswerClock.second
    if isExact || happens(3) {
      return one([0, 0, 0, 9, 21, 12, 1, 3, 23]) * AnswerClock.hour + one([0, 0, 30])
        * AnswerClock.minute
    }
    let odd = one([300, 300, -60, -359, -360, -360, 1, 1, 2, -1, -1, -2])
    return Int64(odd) * second + one([0, 0, 1, -1])
  }

  /// Returns a reading as a question may write it.
  private mutating func moment(_ reading: Int64, _ clock: AnswerClock) -> HealthTime {
    let moment = Timestamp(nanoseconds: clock.moment(of: reading))
    return one([
      .local(CivilTime(nanoseconds: reading)), .local(CivilTime(nanoseconds: reading)),
      .instant(moment, minutesEast: nil), .instant(moment, minutesEast: number(-90...90)),
    ])
  }

  private func like(_ other: HealthTime, _ reading: Int64, _ clock: AnswerClock) -> HealthTime {
    let moment = Timestamp(nanoseconds: clock.moment(of: reading))
    return switch other {
    case .local: .local(CivilTime(nanoseconds: reading))
    case .instant(_, let minutes): .instant(moment, minutesEast: minutes)
    }
  }

  /// Draws the present: mostly later, or near a bound.
  private mutating func present(_ scene: AnswerScene) -> Int64 {
    let (from, to) = (scene.from, scene.to)
    let second = AnswerClock.second
    guard happens(3) else { return max(from, to) + AnswerClock.day * Int64(number(0...40)) }
    let near = one([
      from, to, to, scene.clock.span(to, .day).upper, scene.clock.span(to, .hour).upper,
      from / 2 + to / 2,
    ])
    return near + one([0, 1, -1, second, -second, -second, second + 1, -second - 1])
  }

  private mutating func findEdges(_ scene: inout AnswerScene) {
    let (clock, from, to) = (scene.clock, scene.from, scene.to)
    let changes = scene.zone.transitions.map(\.at.nanoseconds)
    scene.edges = [from, from, to, to, scene.now.nanoseconds] + changes
    for moment in [from, to, from / 2 + to / 2] {
      for grouping in [HealthGrouping.hour, .day, .day, .week, .month] {
        let span = clock.span(moment, grouping)
        scene.edges += [span.lower, span.upper]
      }
      scene.edges.append(clock.span(moment, .day, lead: 3 * AnswerClock.hour).lower)
    }
    if scene.isExact {
      scene.edges = scene.edges.map { AnswerClock.whole($0, AnswerScene.unit) * AnswerScene.unit }
    }
  }
}
