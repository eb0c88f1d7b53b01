import HoldfastCore
import Testing

/// A machine that fires some time after it was armed. It may have a flaw.
private struct Alarm: Machine, Equatable {
  enum Flaw: Sendable { case none, stuck, early, growing, broken, repeated }
  enum Input: Sendable, Equatable, Codable { case arm(Int), disarm }
  enum Effect: Sendable, Equatable, Codable { case fire(Int), done }

  var flaw: Flaw
  private(set) var deadline: Instant?
  private var armed = 0
  private var ticks = 0

  init(_ flaw: Flaw) { self.flaw = flaw }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    switch input {
    case .arm(let seconds):
      if flaw != .repeated || armed == 0 { armed += 1 }
      deadline = now.advanced(by: .seconds(seconds))
    case .disarm: deadline = nil
    }
    return []
  }

  mutating func tick(at now: Instant) -> [Effect] {
    if flaw == .growing { ticks += 1 }
    guard let due = deadline, due <= now || flaw == .early else { return [] }
    if flaw != .stuck, due <= now { deadline = nil }
    return [.fire(armed), .done]
  }

  func check(_ check: inout InvariantCheck) {
    check.require(flaw != .broken || armed < 3, "alarm: it is armed twice at the most")
  }
}

private struct AlarmInputs: InputGenerator {
  var run: RandomRun<Alarm>

  init(seed: UInt64) {
    run = RandomRun(Alarm(.none), seed: seed, generator: RandomSource(seed: seed))
  }

  mutating func act() {
    passTime([.seconds(1), .seconds(9)])
    give(oneIn(4) ? .disarm : .arm(number(1...9)))
  }

  static func request(in effect: Alarm.Effect) -> String? {
    if case .fire = effect { "\(effect)" } else { nil }
  }

  static let properties = [
    MachineProperty<AlarmInputs>("it fires only when time passed") {
      $1.input == nil || $1.effects.isEmpty
    }
  ]
}

@Suite struct RandomInputsTests {
  @Test func `a machine without a flaw passes, and all of its cases occur`() {
    RandomInputs<AlarmInputs>(seeds: 0..<20, acts: 30)
      .expectSound(inputs: "arm disarm", effects: "done fire")
  }

  @Test func `each flaw of a machine is found and named`() {
    let flaws: [(Alarm.Flaw, String)] = [
      (.stuck, "deadlines move on"), (.early, "an early or repeated tick asks for nothing"),
      (.growing, "an early or repeated tick changes nothing"),
      (.broken, "invariant: alarm: it is armed twice at the most"),
      (.repeated, "asks only once for fire(1)"),
    ]
    for (flaw, property) in flaws {
      RandomInputs<AlarmInputs>.expectFound(property) { machine, _, _ in machine.flaw = flaw }
    }
    RandomInputs<AlarmInputs>.expectFound("it fires only when time passed") { _, input, effects in
      if input == .disarm { effects = [.done] }
    }
  }

  @Test func `a failure reports its seed and a minimal list of inputs, the same in each run`() {
    let inputs = RandomInputs<AlarmInputs>(seeds: 7..<8, acts: 50) { machine, _, _ in
      machine.flaw = .broken
    }
    let failure = inputs.run().failures.first
    #expect(failure?.hasPrefix("AlarmInputs, seed 7, step ") == true)
    #expect(failure?.split(separator: "\n").count == 4)
    #expect(inputs.run().failures == inputs.run().failures)
  }
}
