package import HoldfastCore
import Synchronization

/// A file that records a machine's inputs and effects as JSON lines, so that the run can be
/// replayed.
///
/// Only the owner can read the file (0600). `record` performs no I/O: steps are encoded and written
/// in order on the journal's own queue. An error turns journaling off and is reported once. It
/// never stops or delays the driver.
///
/// Notes about connections stand between the steps. A replay ignores them.
///
/// When the file NAME is full, it is renamed to NAME.1, which replaces an older part, and the run
/// continues in a new file NAME. A run therefore keeps at most two files of the maximum size. The
/// files of earlier runs are kept as NAME.old1 and so on, up to 999 of them.
package final class Journal<M: Journaled>: Sendable {
  private let waiting = Mutex(WaitingSteps<M>())
  private let file: JournalFile<M>
  private let notice: @Sendable (JournalError) -> Void

  /// Creates the file after renaming the files of an earlier run, including NAME.1.
  ///
  /// - Parameters:
  ///   - limit: The maximum size of a file in bytes. 64 MiB hold about 200,000 steps.
  ///   - notice: A function that is called once, with the reason, if journaling is turned off.
  /// - Throws: An error if the file cannot be created, or if a file exists that is neither empty
  ///   nor a journal.
  package init(
    path: String, header: JournalHeader<M>, limit: Int = 64 << 20,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) {
    self.notice = notice
    file = JournalFile(path: path, header: header, limit: limit)
    try await file.start()
  }

  /// Whether journaling is on.
  package var isOn: Bool { waiting.withLock(\.isOn) }

  /// Queues a step to be written. The call performs no I/O.
  package func record(_ step: JournalStep<M>) { record(.step(step)) }

  /// Queues a note to be written. The call performs no I/O. A note is dropped if the disk is slow.
  package func record(_ note: JournalNote) { record(.note(note)) }

  private func record(_ entry: JournalEntry<M>) {
    switch waiting.withLock({ $0.add(entry) }) {
    case .nothing: return
    case .write: Task { await write() }
    case .giveUp: notice(JournalError(path: file.path, .file("the disk is too slow")))
    }
  }

  /// Waits until every recorded step has been passed to the operating system.
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

/// The steps and notes that have been recorded but not written.
struct WaitingSteps<M: Machine> {
  /// The action that must follow after a step was added.
  enum Next { case nothing, write, giveUp }

  /// The maximum number of entries that may wait for the disk. The limit is Holdfast's own.
  ///
  /// Beyond this limit journaling is turned off: a journal with a gap cannot be replayed, and a
  /// driver must not wait for the disk.
  static var bound: Int { 16_384 }

  private(set) var isOn = true
  private var entries: [JournalEntry<M>] = []
  private var isWriting = false

  mutating func add(_ entry: JournalEntry<M>) -> Next {
    guard isOn else { return .nothing }
    guard entries.count < Self.bound else {
      if case .note = entry { return .nothing }
      _ = turnOff()
      return .giveUp
    }
    entries.append(entry)
    defer { isWriting = true }
    return isWriting ? .nothing : .write
  }

  /// Returns the entries to write. If there are none, the writer stops until the next one is added.
  mutating func takeAll() -> [JournalEntry<M>] {
    defer { (entries, isWriting) = ([], !entries.isEmpty) }
    return entries
  }

  /// Drops the waiting entries. Returns whether journaling was on.
  mutating func turnOff() -> Bool {
    defer { (isOn, entries) = (false, []) }
    return isOn
  }
}
