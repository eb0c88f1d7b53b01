import HoldfastCore

/// A generator of random inputs for one machine, and the properties that the machine must satisfy.
///
/// The driver calls `begin` once and `act` repeatedly. Both pass inputs to `give`, which checks the
/// machine after each one. A generator uses `run.machine` and its own notes about effects, so that
/// most inputs are plausible and lead to states that are hard to reach.
protocol InputGenerator: RandomValues, SendableMetatype {
  associatedtype Subject: Machine

  /// The machine, its clock, and the first failure of the run.
  var run: RandomRun<Subject> { get set }

  /// Creates the machine for a seed without passing any input.
  init(seed: UInt64)

  /// Passes the first inputs of a run.
  mutating func begin()
  /// Lets time pass, and passes one input or a few related inputs.
  mutating func act()
  /// Records facts about a step for later inputs and properties.
  mutating func note(_ step: MachineStep<Subject>)
  /// Discards the notes about the previous process.
  mutating func noteRestart()
  /// Answers the requests that the machine made at a deadline, before the clock advances further.
  mutating func answerWhileWaiting()

  /// Returns the identifier of the request in an effect, or `nil` if several effects may have the
  /// same one.
  static func request(in effect: Subject.Effect) -> String?
  /// The properties that must hold after each step. They are checked before `note` receives the
  /// step.
  static var properties: [MachineProperty<Self>] { get }
}

/// The result of one call to a machine.
struct MachineStep<Subject: Machine> {
  let before: Subject
  /// The input, or `nil` if `tick` was called.
  let input: Subject.Input?
  let effects: [Subject.Effect]
  let after: Subject
  let now: Instant
}

/// A property that must hold after every step of a machine. It has a name and a condition.
struct MachineProperty<Generator: InputGenerator>: Sendable {
  typealias Condition = @Sendable (Generator, MachineStep<Generator.Subject>) -> Bool

  let name: String
  /// Returns whether the property holds for a step. The generator's notes only cover earlier steps.
  let holds: Condition

  init(_ name: String, _ holds: @escaping Condition) {
    self.name = name
    self.holds = holds
  }
}

/// An injected fault. It changes a machine or its effects after a call.
typealias Fault<Subject: Machine> =
  @Sendable (_ machine: inout Subject, Subject.Input?, _ effects: inout [Subject.Effect]) -> Void

/// A run of one machine that receives random inputs.
struct RandomRun<Subject: Machine> {
  /// An input and its time. If there is no input, `tick` was called.
  struct Given {
    let at: Instant
    var input: Subject.Input?
    /// The machine of a new process, if this entry is a restart.
    var fresh: Subject?
  }

  let seed: UInt64
  var generator: RandomSource
  var machine: Subject
  var now = Instant.zero
  var fault: Fault<Subject>?
  private(set) var given: [Given] = []
  private(set) var inputs: Set<String> = []
  private(set) var effects: Set<String> = []
  private var requests: Set<String> = []
  /// The first property that did not hold.
  private(set) var broken: String?

  init(_ machine: Subject, seed: UInt64, generator: RandomSource) {
    self.machine = machine
    self.seed = seed
    self.generator = generator
  }
}

extension RandomRun {
  /// Records a broken property, unless another property broke earlier.
  mutating func fail(_ property: String) {
    if broken == nil { broken = property }
  }

  /// Continues with a new machine, as after a restart of the process.
  mutating func restart(_ fresh: Subject) {
    given.append(Given(at: now, fresh: fresh))
    machine = fresh
    requests = []
  }

  /// Calls the machine once.
  mutating func step(_ input: Subject.Input?) -> MachineStep<Subject> {
    let before = machine
    given.append(Given(at: now, input: input))
    var effects = input.map { machine.handle($0, at: now) } ?? machine.tick(at: now)
    fault?(&machine, input, &effects)
    if let input { inputs.insert(caseName(of: input)) }
    for effect in effects { self.effects.insert(caseName(of: effect)) }
    return MachineStep(
      before: before, input: input, effects: effects, after: machine, now: now)
  }

  /// Checks the properties that every machine must satisfy.
  mutating func check(
    _ step: MachineStep<Subject>, _ request: (Subject.Effect) -> String?
  ) {
    for name in machine.brokenInvariants(.thorough) { fail("invariant: \(name)") }
    for id in step.effects.compactMap(request) where !requests.insert(id).inserted {
      fail("asks only once for \(id)")
    }
    // Calling a copy takes as long as the step itself, so not every step is checked.
    if step.input == nil || given.count % 4 == 1 { checkTime(step) }
  }

  /// Checks that deadlines advance, and that an early or repeated call of `tick` has no effect.
  private mutating func checkTime(_ step: MachineStep<Subject>) {
    var copy = machine
    if step.input == nil {
      var ticks = 0
      while let due = copy.deadline, due <= now, ticks < 100 {
        _ = copy.tick(at: now)
        ticks += 1
      }
      if ticks == 100 { return fail("deadlines move on") }
    }
    if let due = copy.deadline, due <= now { return }
    let before = copy
    if !copy.tick(at: now).isEmpty { fail("an early or repeated tick asks for nothing") }
    if copy.deadline != before.deadline || differ(copy, before) {
      fail("an early or repeated tick changes nothing")
    }
  }
}

/// Returns whether two values differ. Values whose types are not equatable are treated as equal.
private func differ(_ left: some Sendable, _ right: some Sendable) -> Bool {
  func differs<Value: Equatable>(_ left: Value) -> Bool { left != right as? Value }
  guard let left = left as? any Equatable else { return false }
  return differs(left)
}

/// Returns the name of a value's enumeration case.
private func caseName(of value: some Sendable) -> String {
  Mirror(reflecting: value).children.first?.label ?? "\(value)"
}

extension InputGenerator {
  /// The device's wall clock at the start of a run, in nanoseconds since 1970-01-01.
  static var wallAtZero: Int64 { 1_768_000_000_000_000_000 }

  var wall: Timestamp { Timestamp(nanoseconds: Self.wallAtZero + now.nanoseconds) }
  var generator: RandomSource {
    get { run.generator }
    set { run.generator = newValue }
  }
  var machine: Subject { run.machine }
  var now: Instant { run.now }
  /// Whether a property has been violated, which makes further inputs pointless.
  var isOver: Bool { run.broken != nil }

  mutating func begin() {}
  mutating func note(_ step: MachineStep<Subject>) {}
  mutating func noteRestart() {}
  mutating func answerWhileWaiting() {}
  static func request(in effect: Subject.Effect) -> String? { nil }
  static var properties: [MachineProperty<Self>] { [] }

  /// Passes an input to the machine, or calls `tick` if there is no input, and checks the step.
  mutating func give(_ input: Subject.Input?) {
    guard !isOver else { return }
    let step = run.step(input)
    run.check(step, Self.request)
    for property in Self.properties where !property.holds(self, step) { run.fail(property.name) }
    note(step)
  }

  /// Ends the machine's process and starts another process with a new machine.
  mutating func restart(_ fresh: Subject) {
    guard !isOver else { return }
    run.restart(fresh)
    noteRestart()
  }
}

// MARK: Time
extension InputGenerator {
  /// The machine's deadline, or `nil` if the machine has none or the deadline is never reached.
  var due: Instant? { machine.deadline.flatMap { $0.nanoseconds == .max ? nil : $0 } }

  /// Advances the clock to an instant without calling the machine.
  mutating func skip(to moment: Instant) { run.now = max(now, moment) }

  /// Advances the clock to the deadline, plus or minus a few nanoseconds, and calls the machine.
  mutating func awaitDue(butBy nanoseconds: Int64 = 0) {
    guard let due else { return }
    skip(to: due.advanced(by: .nanoseconds(nanoseconds)))
    give(nil)
  }

  /// Lets time pass, and calls the machine at its deadlines. The number of calls is limited.
  mutating func elapse(_ time: Duration, atMost calls: Int = 12) {
    let end = now.advanced(by: time)
    var left = calls
    while let due, due <= end, left > 0, !isOver {
      skip(to: due)
      give(nil)
      answerWhileWaiting()
      left -= 1
    }
    skip(to: end)
  }

  /// Lets time pass in one of several ways: not at all, or until, just before, just after, or
  /// beyond the deadline.
  ///
  /// - Parameter waits: Durations that are significant for the machine.
  mutating func passTime(_ waits: [Duration]) {
    switch number(0...19) {
    case 0...8: return
    case 9...12: awaitDue()
    case 13: if let due { skip(to: due) }
    case 14: awaitDue(butBy: -1)
    case 15: awaitDue(butBy: 1)
    case 16...18: elapse(one(waits))
    case _: elapse(one(waits) - .nanoseconds(1))
    }
  }
}

/// A driver that runs a machine with random inputs for each of many seeds.
struct RandomInputs<Generator: InputGenerator> {
  let seeds: Range<UInt64>
  /// The number of calls of `act` in a run.
  let acts: Int
  var fault: Fault<Generator.Subject>?

  /// The failures, and the cases of inputs and effects that occurred.
  struct Outcome {
    var failures: [String] = []
    var inputs: Set<String> = []
    var effects: Set<String> = []
  }

  /// Runs the seeds in order until one fails.
  func run() -> Outcome {
    var outcome = Outcome()
    for seed in seeds {
      let generator = play(seed)
      outcome.inputs.formUnion(generator.run.inputs)
      outcome.effects.formUnion(generator.run.effects)
      guard let broken = generator.run.broken else { continue }
      outcome.failures.append(text(broken, of: generator))
      break
    }
    return outcome
  }

  /// Returns the generator of a seed after its run.
  func play(_ seed: UInt64) -> Generator {
    var generator = Generator(seed: seed)
    generator.run.fault = fault
    generator.begin()
    for _ in 0..<acts where !generator.isOver { generator.act() }
    return generator
  }

  private func text(_ broken: String, of generator: Generator) -> String {
    let given = generator.run.given
    let fewest = fewest(given, breaking: broken, seed: generator.run.seed)
    let lines = fewest.map {
      "  \($0.at.nanoseconds) ns: \($0.fresh == nil ? describe($0.input) : "a new process")"
    }
    return "\(Generator.self), seed \(generator.run.seed), step \(given.count), after "
      + "\(describe(given.last?.input)): \(broken). Minimal inputs that reproduce it:\n"
      + lines.joined(separator: "\n")
  }

  private func describe(_ input: Generator.Subject.Input?) -> String {
    input.map { String("\($0)".prefix(500)) } ?? "a tick"
  }

  /// Returns a minimal list of inputs that still reproduces the failure. The method removes ever
  /// shorter pieces.
  private func fewest(
    _ given: [RandomRun<Generator.Subject>.Given], breaking property: String, seed: UInt64
  ) -> [RandomRun<Generator.Subject>.Given] {
    var remaining = given
    var length = remaining.count / 2
    while length > 0 {
      var start = 0
      while start < remaining.count {
        var fewer = remaining
        fewer.removeSubrange(start..<min(start + length, remaining.count))
        if replay(fewer, seed: seed) == property { remaining = fewer } else { start += length }
      }
      length /= 2
    }
    return remaining
  }

  /// Replays recorded inputs. Returns the first property that does not hold.
  private func replay(
    _ given: [RandomRun<Generator.Subject>.Given], seed: UInt64
  ) -> String? {
    var generator = Generator(seed: seed)
    generator.run.fault = fault
    for one in given where !generator.isOver {
      generator.skip(to: one.at)
      if let fresh = one.fresh { generator.restart(fresh) } else { generator.give(one.input) }
    }
    return generator.run.broken
  }
}
