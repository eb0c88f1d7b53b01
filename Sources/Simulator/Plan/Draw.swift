import LinkCore

/// Draws what a plan is made of; each draw moves one generator on.
struct Draw {
  var chance: Chance

  init(seed: UInt64) {
    chance = Chance(seed: seed)
  }

  mutating func happens(_ share: Double) -> Bool { chance.unit() < share }

  mutating func count(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &chance) }

  /// Whole milliseconds, evenly from the first up to the second number of seconds.
  mutating func seconds(_ low: Double, _ high: Double) -> Duration {
    let milliseconds = (low + (high - low) * chance.unit()) * 1000
    return .milliseconds(Int64(milliseconds))
  }

  /// One of these.
  mutating func one<Element>(_ first: Element, _ others: Element...) -> Element {
    let index = Int.random(in: 0...others.count, using: &chance)
    return index == 0 ? first : others[index - 1]
  }
}

/// A plan in the making: actions at times drawn over its length.
struct Sketch {
  var draw: Draw
  let server: ServerKind
  var weather = Weather()
  var actions: [Planned] = []
  var length = Duration.seconds(3600)

  init(seed: UInt64, server: ServerKind) {
    draw = Draw(seed: seed)
    self.server = server
  }

  mutating func add(_ action: Action, at time: Duration) {
    actions.append(Planned(at: time, action))
  }

  /// Adds an action so many times, each at a time and with numbers of its own.
  mutating func scatter(_ times: Int, _ make: (inout Draw) -> Action) {
    for _ in 0..<times {
      let time = draw.seconds(5, Double(length.components.seconds))
      add(make(&draw), at: time)
    }
  }

  /// What people do on any day: others talk, the user answers, scrolls and pulls.
  mutating func life(others: ClosedRange<Int>, sends: ClosedRange<Int>) {
    scatter(draw.count(others)) {
      .others(messages: $0.happens(0.1) ? $0.count(10...40) : $0.count(1...5))
    }
    scatter(draw.count(sends)) { _ in .send }
    scatter(draw.count(0...3)) { $0.one(.loadOlder, .loadOlder, .pullToRefresh, .retryFailed) }
  }

  /// By time; equal times as they were drawn.
  func finished(seed: UInt64) -> Plan {
    let sorted = actions.enumerated().sorted {
      ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
    }
    return Plan(
      seed: seed, server: server, weather: weather, actions: sorted.map(\.element), length: length)
  }
}
