import LinkCore

/// The steps that a journal has not written yet.
struct WaitingSteps<M: Machine> {
  /// What to do after a step was added.
  enum Next { case nothing, write, giveUp }

  /// The steps that may wait for the disk; ours. One more turns journaling off, since a journal
  /// with a hole cannot be replayed, and a driver must not wait for it.
  static var bound: Int { 16_384 }

  private(set) var isOn = true
  private var steps: [JournalStep<M>] = []
  private var isWriting = false

  mutating func add(_ step: JournalStep<M>) -> Next {
    guard isOn else { return .nothing }
    guard steps.count < Self.bound else {
      _ = turnOff()
      return .giveUp
    }
    steps.append(step)
    defer { isWriting = true }
    return isWriting ? .nothing : .write
  }

  /// Returns the steps to write; none if the writer can stop until the next one is added.
  mutating func takeAll() -> [JournalStep<M>] {
    defer { (steps, isWriting) = ([], !steps.isEmpty) }
    return steps
  }

  /// Drops the waiting steps; returns whether it was on.
  mutating func turnOff() -> Bool {
    defer { (isOn, steps) = (false, []) }
    return isOn
  }
}
