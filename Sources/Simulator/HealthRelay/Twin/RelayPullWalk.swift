import HealthRelay
import LinkCore
import LinkHealth
import LinkWire

/// Pulls beside their twins, one after the other, to which anything happens.
struct RelayPullWalk: TwinWalk {
  var chance: Chance
  var model = PullModel()
  var twin = RelayPullTwin(RelayPullTwin.Numbers())
  var now = Instant.zero
  var stray: String?
  /// How often in eight an exchange of this pull fails.
  var misfortune = 1
  /// The status that answers of this pull mostly fail with, if there is one.
  var habit: Int?
  /// Once in how many steps this pull lets time pass.
  var pace: UInt64 = 3
  var lastQuestion = 0

  init(_ chance: Chance) {
    self.chance = chance
    compareSeed(PullModel.journalName, PullSettings(), PullReport(ending: .finished))
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    if happens(5) { crowd() }
    renew()
    for _ in 0..<steps where stray == nil {
      if twin.report != nil, !happens(4) { renew() }
      happen()
    }
    return stray
  }

  /// Begins with another pull, half of the time with the numbers of the seed.
  private mutating func renew() {
    let isOdd = happens(2)
    let numbers = isOdd ? odd() : RelayPullTwin.Numbers()
    let settings = Self.settings(numbers)
    switch number(0...2) {
    case 0: model = PullModel(settings, seed: chance.next())
    case 1 where !isOdd: model = PullModel()
    case _: model = PullModel(settings)
    }
    twin = RelayPullTwin(numbers)
    misfortune = one([0, 1, 2, 3, 6])
    habit = one([nil, nil, 409, 409, 410, 413])
    pace = one([3, 3, 9, 30])
  }

  /// Compares how pulls are called, their numbers, and what they report of nothing, with the seed.
  mutating func compareSeed(_ name: String, _ settings: PullSettings, _ report: PullReport) {
    compare("the name of pulls", name, "health-pull")
    compare("the numbers of the seed", settings, Self.settings(RelayPullTwin.Numbers()))
    let nothing = PullReport(answered: 0, unwanted: 0, left: 0, ending: .finished, again: nil)
    compare("a report of nothing", report, nothing)
  }

  static func settings(_ numbers: RelayPullTwin.Numbers) -> PullSettings {
    PullSettings(
      budget: numbers.budget, leaseLimit: numbers.most, exchangeLimit: numbers.exchange,
      leastTime: numbers.least, sendTime: numbers.sending, retries: .list(numbers.waits))
  }

  /// Returns numbers that come to what those of the seed never do; a few are under 0.
  private mutating func odd() -> RelayPullTwin.Numbers {
    var numbers = RelayPullTwin.Numbers()
    numbers.budget = .seconds(one([0, 1, 5, 12, 25, 60]))
    numbers.most = number(1...6)
    numbers.exchange = .seconds(one([1, 3, 8, 30]))
    numbers.least = .milliseconds(one([0, 0, 0, 500, 1_000, 2_000]))
    numbers.sending = .milliseconds(one([0, 0, 400, 3_000]))
    let waits = [[], [0], [1_500], [500, 1_000, 2_000], [100, 100, 100, 100, 100, 100]]
    numbers.waits = one(waits).map { .milliseconds($0) }
    if happens(6) { numbers.sending = .nanoseconds(-1) }
    if happens(4) { numbers.least = .milliseconds(-700) }
    return numbers
  }

  // Steps.

  /// Gives both an input, or lets time pass, and compares all that can be seen.
  mutating func give(_ input: PullModel.Input?) {
    guard stray == nil else { return }
    let effects = input.map { model.handle($0, at: now) } ?? model.tick(at: now)
    let must = twin.step(input, at: now)
    compare("what a pull asks for after \(String(describing: input))", effects, must)
    compare("the time that a pull waits for", model.deadline, twin.deadline)
    compare("the outcome of a pull", model.outcome, twin.report)
    compare("what is wrong with a pull", model.brokenInvariants(.thorough), twin.broken)
  }

  private mutating func happen() {
    if happens(pace) { pass() }
    if happens(10) { return disturb() }
    guard let deed = twin.deed else {
      return give(twin.report == nil && !happens(20) ? .begin : .cancel)
    }
    guard let step = twin.step else { return wait() }
    let isBad = number(0...7) < misfortune
    switch deed {
    case .lease: isBad ? fail(step) : lease(StepID(step))
    case .read: isBad ? wait() : give(.prepared(StepID(step), parts: parts()))
    case .send, .excuse: isBad ? fail(step) : give(.posted(StepID(step)))
    }
  }

  private mutating func parts() -> Int { one([-1, 0, 1, 1, 1, 2, 2, 3, 4]) }

  private mutating func fail(_ step: UInt64) { give(.failed(StepID(step), failure())) }

  /// Does what comes too late, too early, twice, or from another step.
  private mutating func disturb() {
    let step = StepID(UInt64(number(0...Int(twin.steps) + 1)))
    switch number(0...8) {
    case 0: give(.begin)
    case 1: give(.leased(step, page()))
    case 2, 3: give(.prepared(step, parts: parts()))
    case 4, 5: give(.posted(step))
    case 6: give(.failed(step, failure()))
    case 7: give(nil)
    case _: if happens(3) { give(.cancel) }
    }
  }

  // Time.

  private mutating func wait() {
    move(to: twin.deadline?.advanced(by: beside()))
    give(nil)
  }

  /// Returns a moment before, none, or a moment after.
  mutating func beside() -> Duration { one([.zero, .zero, .nanoseconds(-1), .nanoseconds(1)]) }

  private mutating func move(to time: Instant?) {
    if let time, time > now { now = time }
  }

  /// Lets time pass: a while, or as much as leaves just the least time to do something.
  private mutating func pass() {
    let (bound, least) = (twin.bound, .zero - twin.numbers.least)
    switch number(0...9) {
    case 0: move(to: twin.deadline?.advanced(by: beside()))
    case 1: move(to: bound.advanced(by: least + beside()))
    case 2: move(to: bound.advanced(by: least - twin.numbers.sending + beside()))
    case 3: move(to: twin.end?.advanced(by: least + beside()))
    case 4: if happens(4) { move(to: twin.end?.advanced(by: beside())) }
    case 5: if happens(3) { move(to: twin.leasesEnd.advanced(by: beside())) }
    case _: move(to: now.advanced(by: .milliseconds(one([0, 1, 40, 300, 1_000, 2_500]))))
    }
    if happens(3) { give(nil) }
  }
}
