import Foundation
import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts

/// An export that is imported at the start, and again whenever its file changes.
struct ExportWatch: Sendable {
  private let path: String
  private let opening: Opening
  private let note: Note
  private let progress: @Sendable (HealthImport.Progress) -> Void
  private let clock = BootClock()

  /// A function that shows a result or a failure. Its arguments are a kind and a text.
  typealias Note = @Sendable (String, String) async -> Void

  /// The store into which the file is imported.
  enum Opening: Sendable {
    /// A store that stays open.
    case open(any HealthStore)
    /// The store of a directory. It is open during an import only, so that other processes can
    /// import too.
    case directory(String)
  }

  /// The interval between checks. The file is imported after two checks with equal results, so that
  /// it is complete.
  private static let pause = Duration.seconds(2)
  /// The time after which an import is retried if the store refused it. The value is Holdfast's
  /// own.
  private static let timeLimit = Duration.seconds(60)

  init(
    _ path: String, into opening: Opening,
    progress: @escaping @Sendable (HealthImport.Progress) -> Void = { _ in },
    note: @escaping Note
  ) {
    (self.path, self.opening, self.progress, self.note) = (path, opening, progress, note)
  }

  /// Imports the file before the sync begins.
  ///
  /// - Parameter isRequired: Whether a failure ends the command. Otherwise, a notice reports the
  ///   failure, and the progress states it.
  /// - Returns: The progress from which `run(after:)` continues.
  func first(isRequired: Bool) async throws(CommandFailure) -> Progress {
    let state = FileState(of: path)
    let (failure, isStores) = await importOnce()
    guard let failure else { return Progress(imported: state) }
    guard isRequired else {
      await note("export", failure.line)
      return Progress(
        imported: state, again: isStores ? clock.now.advanced(by: Self.timeLimit) : nil,
        failure: failure.line)
    }
    throw failure
  }

  /// Imports the file after each change, and retries after a refusal by the store, until the task
  /// is cancelled.
  func run(after first: Progress) async {
    var last = first
    var seen = first.imported
    while (try? await clock.wait(until: clock.now.advanced(by: Self.pause))) != nil {
      let state = FileState(of: path)
      defer { seen = state }
      let isDue = last.again.map { clock.now >= $0 } ?? false
      guard let state, state == seen, state != last.imported || isDue else { continue }
      // The state was determined before the import reads the file, so that a change during the
      // import causes another import.
      last = Progress(imported: state)
      let (failure, isStores) = await importOnce()
      guard let failure else { continue }
      if isStores { last.again = clock.now.advanced(by: Self.timeLimit) }
      await note("export", failure.line)
    }
  }

  /// The progress of a watch: the state of the file before its last import, and the time of a
  /// retry.
  struct Progress: Sendable {
    fileprivate var imported: FileState?
    /// The time at which to retry an import that the store refused; `nil` if there was no refusal.
    fileprivate var again: Instant?
    /// The failure of the first import, if any.
    private(set) var failure: String?
  }

  /// Imports the file. Returns the failure, if any, and whether the store caused it.
  private func importOnce() async -> (failure: CommandFailure?, isStores: Bool) {
    do throws(HealthImport.Failure) {
      let report = try await withStore { store throws(HealthImport.Failure) in
        try await HealthImport.run(path, into: store) {
          Task.isCancelled
        } note: {
          progress($0)
        }
      }
      let removed = report.types.reduce(0) { $0 + $1.removed }
      let counts = "\(report.addition.added) added, \(removed) removed"
      if report.ending == .stopped {
        await note("interrupted", "\(counts) so far; the rest is imported at the next start")
      } else {
        await note("imported", counts)
      }
      if let reason = HealthImportView.reason(report) { await note("export", reason) }
      switch report.ending {
      case .complete, .stopped: return (nil, false)
      case .truncated: return (CommandFailure(.failed, "\(path) is cut off"), false)
      case .damaged(let reason): return (CommandFailure(.failed, "\(path): \(reason)"), false)
      }
    } catch {
      if case .store(.locked) = error {
        let failure = CommandFailure(
          .failed, "another process has opened the data directory, maybe to import",
          remedy: "the import is tried again every minute; without it, answers are from what is "
            + "stored")
        return (failure, true)
      }
      let isStores = if case .store = error { true } else { false }
      return (CommandFailure(error, of: path), isStores)
    }
  }

  /// Runs an import with the store, which is opened and closed if it does not stay open.
  private func withStore(
    _ work: (any HealthStore) async throws(HealthImport.Failure) -> HealthImport.Report
  ) async throws(HealthImport.Failure) -> HealthImport.Report {
    switch opening {
    case .open(let store): return try await work(store)
    case .directory(let directory):
      let store: any HealthStore
      do throws(StoreFailure) {
        store = try await HoldfastPlatform.healthStore(in: directory)
      } catch {
        throw .store(error)
      }
      return try await store.closing { () throws(HealthImport.Failure) in try await work(store) }
    }
  }
}

/// The attributes by which versions of a file can be distinguished without reading the file.
private struct FileState: Equatable {
  private let number: Int?
  private let size: Int?
  private let changed: Date?

  /// Creates the state of a file. Returns `nil` if the file does not exist.
  init?(of path: String) {
    guard let found = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
    number = found[.systemFileNumber] as? Int
    size = found[.size] as? Int
    changed = found[.modificationDate] as? Date
  }
}
