package import LinkCore
import Synchronization

/// A file of a machine's inputs and effects as JSON lines, from which the run can be replayed.
///
/// Only the owner can read it (0600). `record` does no I/O: steps are encoded and written in order
/// on the journal's own queue. An error turns journaling off, with one notice, and never stops or
/// delays the driver.
///
/// When the file NAME is full, it is renamed to NAME.1, replacing an older part, and the run
/// continues in a new NAME. A run therefore has at most two files of the size limit. The files of
/// earlier runs are kept as NAME.old1 and so on, up to 999 of them.
package final class Journal<M: Journaled>: Sendable {
  private let waiting = Mutex(WaitingSteps<M>())
  private let file: JournalFile<M>
  private let notice: @Sendable (JournalError) -> Void

  /// Creates the file after renaming the files of an earlier run, including NAME.1.
  ///
  /// - Parameters:
  ///   - limit: The most bytes in one file; 64 MiB contain about 200,000 steps.
  ///   - notice: Called once if journaling is turned off, with the reason.
  /// - Throws: An error if the file cannot be created, or if a file exists that is neither empty nor
  ///   a journal.
  package init(
    path: String, header: JournalHeader<M>, limit: Int = 64 << 20,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) {
    self.notice = notice
    file = JournalFile(path: path, header: header, limit: limit)
    try await file.start()
  }

  /// Whether steps are still being written.
  package var isOn: Bool { waiting.withLock(\.isOn) }

  /// Queues a step to be written. Does no I/O itself.
  package func record(_ step: JournalStep<M>) {
    switch waiting.withLock({ $0.add(step) }) {
    case .nothing: return
    case .write: Task { await write() }
    case .giveUp: notice(JournalError(path: file.path, .file("the disk is too slow")))
    }
  }

  /// Waits until every recorded step was passed to the operating system.
  package func flush() async {
    await write()
  }

  /// Writes the queued steps and closes the file. Later steps are not recorded.
  package func close() async {
    await write()
    _ = waiting.withLock { $0.turnOff() }
    await file.close()
  }

  private func write() async {
    do {
      try await file.write { self.waiting.withLock { $0.takeAll() } }
    } catch {
      let wasOn = waiting.withLock { $0.turnOff() }
      await file.close()
      if wasOn { notice(error) }
    }
  }
}

/// The steps that a journal has not written yet.
struct WaitingSteps<M: Machine> {
  /// The action that follows when a step was added.
  enum Next { case nothing, write, giveUp }

  /// The most steps that may wait for the disk; a chosen value.
  ///
  /// Beyond it journaling is turned off, since a journal with a gap cannot be replayed and a driver
  /// must not wait for it.
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

  /// Returns the steps to write; empty if the writer can stop until the next step is added.
  mutating func takeAll() -> [JournalStep<M>] {
    defer { (steps, isWriting) = ([], !steps.isEmpty) }
    return steps
  }

  /// Drops the waiting steps. Returns whether journaling was on.
  mutating func turnOff() -> Bool {
    defer { (isOn, steps) = (false, []) }
    return isOn
  }
}
