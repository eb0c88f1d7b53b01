import CommandKit
import Foundation
import Holdfast
import LinkCore
import LinkHealth
import LinkRuntime

/// An export that is imported, and again whenever its file changes.
struct ExportWatch: Sendable {
  private let path: String
  private let store: any HealthStore
  private let view: SyncView
  private let clock = BootClock()

  /// How often the file is looked at; it is read when it was the same twice, so that it is whole.
  private static let pause = Duration.seconds(2)
  /// After so long an import is tried again that the store refused; ours.
  private static let patience = Duration.seconds(60)

  init(_ path: String, into store: any HealthStore, _ view: SyncView) {
    (self.path, self.store, self.view) = (path, store, view)
  }

  /// Imports the file before the sync begins.
  ///
  /// - Parameter isRequired: Whether a failure ends the command, and is no notice.
  /// - Returns: What `run(after:)` goes on from.
  func first(isRequired: Bool) async throws(CommandFailure) -> Look {
    let state = FileState(of: path)
    let (failure, isStores) = await importOnce()
    guard let failure else { return Look(imported: state) }
    guard isRequired else {
      await view.note("export", failure.line)
      return Look(imported: state, again: isStores ? clock.now.advanced(by: Self.patience) : nil)
    }
    throw failure
  }

  /// Imports the file after each change, and again if the store refused it, until cancelled.
  func run(after first: Look) async {
    var last = first
    var seen = first.imported
    while (try? await clock.wait(until: clock.now.advanced(by: Self.pause))) != nil {
      let state = FileState(of: path)
      defer { seen = state }
      let isDue = last.again.map { clock.now >= $0 } ?? false
      guard let state, state == seen, state != last.imported || isDue else { continue }
      // Its state before it is read: what changes meanwhile is read again.
      last = Look(imported: state)
      let (failure, isStores) = await importOnce()
      guard let failure else { continue }
      if isStores { last.again = clock.now.advanced(by: Self.patience) }
      await view.note("export", failure.line)
    }
  }

  /// What was seen of the file before it was imported last.
  struct Look: Sendable {
    fileprivate var imported: FileState?
    /// When the same file is imported again, which the store refused.
    fileprivate var again: Instant?
  }

  /// Returns why the file was not imported, or not to its end, and whether the store is the reason.
  private func importOnce() async -> (failure: CommandFailure?, isStores: Bool) {
    do throws(HealthImport.Failure) {
      let report = try await HealthImport.run(path, into: store) { Task.isCancelled }
      let removed = report.types.reduce(0) { $0 + $1.removed }
      await view.note("imported", "\(report.addition.added) added, \(removed) removed")
      if let reason = HealthImportView.unread(report) { await view.note("export", reason) }
      switch report.ending {
      case .complete, .stopped: return (nil, false)
      case .truncated: return (CommandFailure(.failed, "\(path) is cut off"), false)
      case .damaged(let reason): return (CommandFailure(.failed, "\(path): \(reason)"), false)
      }
    } catch {
      let isStores = if case .store = error { true } else { false }
      return (CommandFailure(error, of: path), isStores)
    }
  }
}

/// What tells one content of a file from another without reading it.
private struct FileState: Equatable {
  private let number: Int?
  private let size: Int?
  private let changed: Date?

  /// `nil` where there is no file.
  init?(of path: String) {
    guard let found = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
    number = found[.systemFileNumber] as? Int
    size = found[.size] as? Int
    changed = found[.modificationDate] as? Date
  }
}
