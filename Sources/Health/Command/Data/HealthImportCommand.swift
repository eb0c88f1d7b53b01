import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastFeaturePorts
import Synchronization

/// The command `holdfast health import`: imports an Apple Health export into the store.
enum HealthImportCommand {
  private static let file = Parameter.operand(
    Format.text("FILE"), "the zip file from the phone, or the XML file in it")

  private static let replaces = Parameter.flag(
    "replace",
    "add all that the export contains and remove all that it does not contain, even if a newer one "
      + "was imported before")

  static var command: Command {
    Command(
      "import", "import an export of Apple Health",
      details: [
        """
        Only new samples are added, so the same or a newer export can be imported again. An export \
        covers all types up to its date: stored samples that begin before it and are not in the \
        newest export were deleted on the phone, and are removed. An older export does not bring \
        them back. What cannot be read removes nothing: no samples of the type of a damaged record, \
        and none at all where a damaged file does not tell the type. Import the exports of each \
        person, and those of a phone that was set up without the data of the one before, into a \
        data directory of their own. Ctrl-C ends the import; what was imported so far is kept, \
        and nothing is removed.
        """,
        """
        For each type it prints how many samples were added, kept (stored already), repeated in \
        the export, skipped (they cannot be used), outdated (in an older export only: a newer one \
        covers their time and does not contain them), removed, and are stored now. Samples read \
        are those added, kept, repeated, skipped and outdated. With --json it prints about once \
        per second: event "progress", stage (adding, or comparing in a second reading), bytes, \
        total, added, known; and at the end: event "imported", ending, removal (done, older, \
        undated, incomplete or unrepeatable), outdated, types with these counts, samples by type, \
        skipped by reason.
        """,
      ],
      examples: [
        .init("holdfast health import export.zip", "with a progress bar"),
        .init(
          "holdfast health import export.xml --data /tmp/me --json",
          "into another directory, for a script"),
      ],
      takes: replaces, Shared.data, Shared.json, file, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let isStopped = Mutex(false)
    let signals = CommandSignals {
      CommandSignals.abandon(call.command)
    } stopping: {
      isStopped.withLock { $0 = true }
    }
    defer { signals.finish() }
    let view = HealthImportView(call)
    let clock = ContinuousClock()
    let start = clock.now
    let report: HealthImport.Report
    do throws(HealthImport.Failure) {
      let store = try await opened(directory)
      report = try await HealthImport.run(call[file], into: store, replaces: call[replaces]) {
        isStopped.withLock { $0 }
      } note: { progress in
        view.show(progress, after: start.duration(to: clock.now))
      }
      await store.close()
    } catch {
      view.clear()
      throw CommandFailure(error, of: call[file])
    }
    view.clear()
    view.show(report, after: start.duration(to: clock.now))
    if let failure = failure(report.ending, call[file]) { throw failure }
  }

  /// Returns the failure for an import that did not reach the end of the export; `nil` if it did.
  private static func failure(
    _ ending: HealthImport.Ending, _ path: String
  ) -> CommandFailure? {
    let again = "export again on the phone and import that file, which adds the rest"
    return switch ending {
    case .complete: nil
    case .truncated:
      CommandFailure(
        .failed, "\(path) is cut off; the samples before its end are imported", remedy: again)
    case .damaged(let reason):
      CommandFailure(
        .failed, "\(path): \(reason); the samples before that place are imported", remedy: again)
    case .stopped: .stopped("the whole file was imported")
    }
  }

  private static func opened(
    _ directory: String
  ) async throws(HealthImport.Failure) -> any HealthStore {
    do {
      return try await HoldfastPlatform.healthStore(in: directory)
    } catch {
      throw .store(error)
    }
  }
}

extension CommandFailure {
  /// Creates the failure for a command that could not import a file.
  init(_ failure: HealthImport.Failure, of path: String) {
    switch failure {
    case .file(let reason, let remedy):
      self.init(.failed, "\(path): \(reason)", remedy: remedy ?? "")
    case .store(let failure): self.init(failure)
    }
  }
}
