public import LinkCore
import Synchronization

/// Writes what a machine was told and what it asked for, as JSON lines, so that it can be replayed.
///
/// The file is its owner's only (0600). `record` does no I/O: steps are encoded and written in
/// order on a queue of the journal's own. Trouble turns journalling off, with one notice, and never
/// stops or slows the driver.
///
/// A full file NAME becomes NAME.1, replacing the one before, and NAME goes on as the run's next
/// part; so at most two files of the size limit exist of a run. An earlier run is kept beside it,
/// as NAME.old1 and so on, up to 999 of them.
public final class Journal<M: Machine>: Sendable {
  private let waiting = Mutex(WaitingSteps<M>())
  private let file: JournalFile<M>
  private let notice: @Sendable (JournalError) -> Void

  /// Makes the file; the files of an earlier run are renamed first, NAME.1 with them.
  ///
  /// - Parameters:
  ///   - limit: Bytes in one file; 64 MiB hold about 200,000 steps.
  ///   - notice: Called once if journalling goes off, with the reason.
  /// - Throws: When the file cannot be made, or what is there is neither empty nor a journal.
  public init(
    path: String, header: JournalHeader, limit: Int = 64 << 20,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) {
    self.notice = notice
    file = JournalFile(path: path, header: header, limit: limit)
    try await file.start()
  }

  /// Whether steps are still written.
  public var isOn: Bool { waiting.withLock(\.isOn) }

  /// Puts a step in line to be written; does no I/O itself.
  public func record(_ step: JournalStep<M>) {
    switch waiting.withLock({ $0.add(step) }) {
    case .nothing: return
    case .write: Task { await write() }
    case .giveUp: notice(JournalError(path: file.path, .file("the disk is too slow")))
    }
  }

  /// Returns when every step recorded before is handed to the operating system.
  public func flush() async {
    await write()
  }

  /// Writes what waits, closes the file, and takes nothing more.
  public func close() async {
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
