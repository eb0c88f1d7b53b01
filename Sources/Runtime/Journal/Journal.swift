public import LinkCore
import Synchronization

/// Writes what a machine was told and what it asked for, as JSON lines, so that it can be replayed.
///
/// The file is its owner's only (0600). `record` does no I/O: steps are encoded and written in
/// order on a queue of the journal's own. Trouble turns journalling off, with one notice, and never
/// stops or slows the driver.
///
/// A full file NAME becomes NAME.1, replacing the one before, and NAME goes on as the run's next
/// part; so at most two files of the size limit exist.
public final class Journal<M: Machine>: Sendable {
  private let waiting = Mutex(Waiting())
  private let file: JournalFile<M>
  private let notice: @Sendable (JournalError) -> Void

  private struct Waiting {
    var steps: [JournalStep<M>] = []
    var isWriting = false
    var isOn = true
  }

  private enum Next { case nothing, write, giveUp }

  /// Steps that may wait to be written; a disk that is that far behind turns journalling off,
  /// because a journal with a hole cannot be replayed.
  static var longestLine: Int { 16_384 }

  /// Makes the file, or empties the one that is there, and removes an older run's NAME.1.
  ///
  /// - Parameters:
  ///   - limit: Bytes in one file; 64 MiB hold about 200,000 steps.
  ///   - notice: Called once if journalling goes off, with the reason.
  /// - Throws: When the file cannot be made or is no regular file.
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
    let next: Next = waiting.withLock { waiting in
      guard waiting.isOn else { return .nothing }
      guard waiting.steps.count < Self.longestLine else {
        waiting.isOn = false
        waiting.steps = []
        return .giveUp
      }
      waiting.steps.append(step)
      defer { waiting.isWriting = true }
      return waiting.isWriting ? .nothing : .write
    }
    switch next {
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
    waiting.withLock { $0.isOn = false }
    await file.close()
  }

  private func write() async {
    do {
      try await file.write {
        self.waiting.withLock { waiting in
          let steps = waiting.steps
          waiting.steps = []
          waiting.isWriting = !steps.isEmpty
          return steps
        }
      }
    } catch {
      let wasOn = waiting.withLock { waiting in
        defer { (waiting.isOn, waiting.steps) = (false, []) }
        return waiting.isOn
      }
      if wasOn { notice(error) }
    }
  }
}
