import LinkCore

/// Makes random inputs for one machine, and states what that machine promises.
///
/// The driver calls `begin` once and `act` again and again. Both give inputs with `give`, which
/// checks the machine after each; a generator reads `run.machine` and its own notes of effects, so
/// that most inputs are plausible and reach deep states.
protocol InputGenerator: RandomSource, SendableMetatype {
  associatedtype Subject: Machine

  /// The machine, its clock and what was found.
  var run: RandomRun<Subject> { get set }

  /// Makes the machine of a seed; gives no input yet.
  init(seed: UInt64)

  /// Gives the inputs that a run starts with.
  mutating func begin()
  /// Lets time pass, and gives one input or a few that belong together.
  mutating func act()
  /// Keeps what later inputs and properties need to know of a step.
  mutating func note(_ step: MachineStep<Subject>)
  /// Forgets what belonged to the process before.
  mutating func noteRestart()
  /// Answers what a machine asked for when it was woken, while time goes on to pass.
  mutating func answerWhileWaiting()

  /// Returns the identifier of what an effect asks for, if no two effects may share it.
  static func request(in effect: Subject.Effect) -> String?
  /// What holds after each step; checked before the step is noted.
  static var properties: [MachineProperty<Self>] { get }
}

/// What one call to a machine did.
struct MachineStep<Subject: Machine> {
  let before: Subject
  /// `nil` if the machine was told that time passed.
  let input: Subject.Input?
  let effects: [Subject.Effect]
  let after: Subject
  let now: Instant
}

/// What a machine promises of each step, in words and as a condition.
struct MachineProperty<Generator: InputGenerator>: Sendable {
  typealias Condition = @Sendable (Generator, MachineStep<Generator.Subject>) -> Bool

  let name: String
  /// Whether it holds of a step; the generator has noted all steps before this one.
  let holds: Condition

  init(_ name: String, _ holds: @escaping Condition) {
    self.name = name
    self.holds = holds
  }
}

/// An injected fault: changes a machine or its effects after a call.
typealias Fault<Subject: Machine> =
  @Sendable (_ machine: inout Subject, Subject.Input?, _ effects: inout [Subject.Effect]) -> Void

/// One machine under random inputs.
struct RandomRun<Subject: Machine> {
  /// An input and when it was given; without an input, time passed.
  struct Given {
    let at: Instant
    var input: Subject.Input?
    /// The machine of a new process that began then instead.
    var fresh: Subject?
  }

  let seed: UInt64
  var chance: Chance
  var machine: Subject
  var now = Instant.zero
  var fault: Fault<Subject>?
  private(set) var given: [Given] = []
  private(set) var inputs: Set<String> = []
  private(set) var effects: Set<String> = []
  private var requests: Set<String> = []
  /// The first property that did not hold.
  private(set) var broken: String?

  init(_ machine: Subject, seed: UInt64, chance: Chance) {
    self.machine = machine
    self.seed = seed
    self.chance = chance
  }
}

extension RandomRun {
  /// Notes that a property does not hold, if it is the first.
  mutating func fail(_ property: String) {
    if broken == nil { broken = property }
  }

  /// Goes on with another machine, as in a new process.
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

  /// Checks what every machine promises, whatever it is for.
  mutating func check(
    _ step: MachineStep<Subject>, _ request: (Subject.Effect) -> String?
  ) {
    for name in machine.brokenInvariants(.thorough) { fail("invariant: \(name)") }
    for id in step.effects.compactMap(request) where !requests.insert(id).inserted {
      fail("asks only once for \(id)")
    }
    // A call of a copy costs as much as the step itself.
    if step.input == nil || given.count % 4 == 1 { checkTime(step) }
  }

  /// Deadlines move on, and a call of `tick` that is early or repeated changes nothing.
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
    let settled = copy
    if !copy.tick(at: now).isEmpty { fail("an early or repeated tick asks for nothing") }
    if copy.deadline != settled.deadline || differ(copy, settled) {
      fail("an early or repeated tick changes nothing")
    }
  }
}

/// Returns whether two values of a type that can be compared are not equal.
private func differ(_ left: some Sendable, _ right: some Sendable) -> Bool {
  func differs<Value: Equatable>(_ left: Value) -> Bool { left != right as? Value }
  guard let left = left as? any Equatable else { return false }
  return differs(left)
}

/// Returns the name of the case of an enumeration that a value is.
private func caseName(of value: some Sendable) -> String {
  Mirror(reflecting: value).children.first?.label ?? "\(value)"
}

extension InputGenerator {
  /// The device's wall clock when a run begins, in nanoseconds.
  static var wallAtZero: Int64 { 1_768_000_000_000_000_000 }

  var wall: Timestamp { Timestamp(nanoseconds: Self.wallAtZero + now.nanoseconds) }
  var chance: Chance {
    get { run.chance }
    set { run.chance = newValue }
  }
  var machine: Subject { run.machine }
  var now: Instant { run.now }
  /// Whether something was found, so that inputs are of no use any more.
  var isOver: Bool { run.broken != nil }

  mutating func begin() {}
  mutating func note(_ step: MachineStep<Subject>) {}
  mutating func noteRestart() {}
  mutating func answerWhileWaiting() {}
  static func request(in effect: Subject.Effect) -> String? { nil }
  static var properties: [MachineProperty<Self>] { [] }

  /// Gives the machine an input, or tells it that time passed, and checks it.
  mutating func give(_ input: Subject.Input?) {
    guard !isOver else { return }
    let step = run.step(input)
    run.check(step, Self.request)
    for property in Self.properties where !property.holds(self, step) { run.fail(property.name) }
    note(step)
  }

  /// Ends the machine's process and begins another one with a fresh machine.
  mutating func restart(_ fresh: Subject) {
    guard !isOver else { return }
    run.restart(fresh)
    noteRestart()
  }
}

// Time.
extension InputGenerator {
  /// What the machine waits for; `nil` if only for the end of time.
  var due: Instant? { machine.deadline.flatMap { $0.nanoseconds == .max ? nil : $0 } }

  /// Lets time pass up to a moment, without a call to the machine.
  mutating func skip(to moment: Instant) { run.now = max(now, moment) }

  /// Waits for what is due, or for a little less or longer, and calls the machine.
  mutating func awaitDue(butBy nanoseconds: Int64 = 0) {
    guard let due else { return }
    skip(to: due.advanced(by: .nanoseconds(nanoseconds)))
    give(nil)
  }

  /// Lets time pass, and calls the machine at each deadline up to a limit.
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

  /// Lets time pass in one of many ways: not at all, at, just beside or past what is due.
  ///
  /// - Parameter waits: lengths that mean something to the machine.
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

/// Gives random inputs to machines of many seeds.
struct RandomInputs<Generator: InputGenerator> {
  let seeds: Range<UInt64>
  /// How often a generator acts in a run.
  let acts: Int
  var fault: Fault<Generator.Subject>?

  /// What was found, and which inputs and effects occurred.
  struct Outcome {
    var failures: [String] = []
    var inputs: Set<String> = []
    var effects: Set<String> = []
  }

  /// Runs each seed; ends at the first that fails.
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
      + "\(describe(given.last?.input)): \(broken). The fewest inputs that show it:\n"
      + lines.joined(separator: "\n")
  }

  private func describe(_ input: Generator.Subject.Input?) -> String {
    input.map { String("\($0)".prefix(500)) } ?? "a while"
  }

  /// Returns the inputs without those that a failure does not need, in pieces of falling length.
  private func fewest(
    _ given: [RandomRun<Generator.Subject>.Given], breaking property: String, seed: UInt64
  ) -> [RandomRun<Generator.Subject>.Given] {
    var kept = given
    var length = kept.count / 2
    while length > 0 {
      var start = 0
      while start < kept.count {
        var fewer = kept
        fewer.removeSubrange(start..<min(start + length, kept.count))
        if replay(fewer, seed: seed) == property { kept = fewer } else { start += length }
      }
      length /= 2
    }
    return kept
  }

  /// Gives recorded inputs again; returns the first property that does not hold.
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
