import LinkCore

/// The steps that a journal has still to write.
struct WaitingSteps<M: Machine> {
  /// What adding a step leads to.
  enum Next { case nothing, write, giveUp }

  /// A disk that is this far behind turns journalling off, because a journal with a hole cannot be
  /// replayed, and a driver must not wait for it.
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

  /// Gives the steps to the writer; none when it can rest until the next is added.
  mutating func takeAll() -> [JournalStep<M>] {
    defer { (steps, isWriting) = ([], !steps.isEmpty) }
    return steps
  }

  /// Drops what waits; says whether it was on.
  mutating func turnOff() -> Bool {
    defer { (isOn, steps) = (false, []) }
    return isOn
  }
}
