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

  init(_ path: String, into store: any HealthStore, _ view: SyncView) {
    (self.path, self.store, self.view) = (path, store, view)
  }

  /// Imports the file before the sync begins.
  ///
  /// - Parameter isRequired: Whether a failure ends the command, and is no notice.
  func first(isRequired: Bool) async throws(CommandFailure) {
    guard let failure = await importOnce() else { return }
    guard isRequired else { return await view.note("export", failure.line) }
    throw failure
  }

  /// Imports the file after each change, until cancelled.
  func run() async {
    var imported = FileState(of: path)
    var seen = imported
    while (try? await clock.wait(until: clock.now.advanced(by: Self.pause))) != nil {
      let state = FileState(of: path)
      defer { seen = state }
      guard let state, state == seen, state != imported else { continue }
      imported = state
      if let failure = await importOnce() { await view.note("export", failure.line) }
    }
  }

  /// Returns why the file was not imported, or not to its end.
  private func importOnce() async -> CommandFailure? {
    do throws(HealthImport.Failure) {
      let report = try await HealthImport.run(path, into: store) { Task.isCancelled }
      let removed = report.types.reduce(0) { $0 + $1.removed }
      await view.note("imported", "\(report.addition.added) added, \(removed) removed")
      switch report.ending {
      case .complete, .stopped: return nil
      case .truncated: return CommandFailure(.failed, "\(path) is cut off")
      case .damaged(let reason): return CommandFailure(.failed, "\(path): \(reason)")
      }
    } catch {
      switch error {
      case .file(let reason, let remedy):
        return CommandFailure(.failed, "\(path): \(reason)", remedy: remedy ?? "")
      case .store(let failure): return CommandFailure(failure)
      }
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
