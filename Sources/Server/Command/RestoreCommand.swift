import HoldfastBackups
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastOperators
import Synchronization

/// The command `holdfast restore`: unpacks a backup to an empty data directory, or only checks it.
package enum RestoreCommand {
  private static let file = Parameter.operand(
    .text("FILE"), "the file that `holdfast backup` has written, without compression")
  private static let isOnlyChecked = Parameter.flag(
    "check", "only read FILE and compare its content with its checksums")

  package static var command: Command {
    Command(
      "restore", "restore a backup to an empty data directory, or check one",
      details: [
        """
        Compares each file with its checksum, checks the stores, and begins a new epoch, so that \
        clients notice that messages after the backup are gone, and phones send health samples \
        again. `serve` needs no --new-epoch afterwards. The directory must be empty or missing; \
        until everything is there, `serve` refuses it. If the restoration fails, it is as before. \
        As root, files are given to the owner of a directory that exists.
        """,
        """
        Whatever happened after the backup has to be done again: erasures of users, removed members, \
        new secrets. A backup of a PostgreSQL backend has no stores: restore the database, too, \
        and start one node once with --new-epoch.
        """,
        """
        With --json the result is one object: made_at, program (the version that made it), files, \
        bytes, stores (names), images_missing.
        """,
      ],
      examples: [
        .init("holdfast restore --check holdfast-2026-11-29.tar", "compare checksums"),
        .init("holdfast restore holdfast-2026-11-29.tar --data /var/lib/holdfast", ""),
      ],
      takes: file, Shared.data, isOnlyChecked, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let (path, isOnlyChecked) = (call[file], call[Self.isOnlyChecked])
    guard !isOnlyChecked || call[Shared.data] == nil else {
      throw CommandFailure(
        .usage, "--check writes nothing, so it takes no --data", remedy: "leave one of them out")
    }
    let directory = isOnlyChecked ? "" : try call.dataDirectory()
    let view = BackupView(call)
    let found = try await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: { () async throws(CommandFailure) in
      try await CommandFailure.converting { () async throws(BackupError) -> DataRestore.Report? in
        guard !isOnlyChecked else { return try await DataRestore.check(path, report: view.show) }
        return try await DataRestore.run(path, to: directory, report: view.show)
      }
    }
    view.end()
    guard let found else {
      throw CommandFailure(.failed, "ended by a signal; nothing was restored")
    }
    show(found, path, call)
    guard !isOnlyChecked else { return }
    if found.missingImages > 0 {
      call.diagnostic("the files of \(found.missingImages) images were missing before the backup")
    }
    if found.head.stores.isEmpty {
      call.diagnostic(
        "the backup has no stores; restore the database, too, and start one node with --new-epoch")
    } else {
      call.diagnostic("restored; serve it with: holdfast serve --data \(directory)")
    }
  }

  private static func show(_ found: DataRestore.Report, _ path: String, _ call: Invocation) {
    let time = RFC3339.format(found.head.madeAt)
    call.put(
      "\(path): \(found.files) files, \(found.bytes) bytes, made at \(time) by holdfast "
        + found.head.program
    ) {
      $0.entry("made_at", time)
      $0.entry("program", found.head.program)
      $0.entry("files", found.files)
      $0.entry("bytes", found.bytes)
      $0.entry("stores", found.head.stores.map(\.file))
      $0.entry("images_missing", found.missingImages)
    }
  }
}

extension CommandFailure {
  /// Runs `work`, and converts the error of a backup.
  static func converting<Value>(
    _ work: () async throws(BackupError) -> Value
  ) async throws(CommandFailure) -> Value {
    do throws(BackupError) {
      return try await work()
    } catch {
      switch error {
      case .store(let failure): throw CommandFailure(failure)
      case .archive(let path, let fault):
        throw CommandFailure(.failed, "\(path) \(fault)", remedy: fault.remedy)
      case .place(let cause, let remedy): throw CommandFailure(.failed, cause, remedy: remedy)
      }
    }
  }
}

/// The progress of a backup or a restoration: a line on a terminal, else a diagnostic for each store.
final class BackupView: Sendable {
  private let call: Invocation
  private let shown = Mutex("")

  init(_ call: Invocation) { self.call = call }

  @Sendable func show(_ step: BackupStep) {
    let (text, isWorthALine) =
      switch step {
      case .files(let count): ("\(count) files", false)
      case .store(let file, let pages, let total):
        ("copied \(pages) of \(total) pages of \(file)", pages == total)
      case .check(let file): ("checking \(file)", true)
      }
    if call.hasScreen {
      _ = Console.raw(Terminal.eraseLine + text)
    } else if isWorthALine, !call[Shared.json] {
      shown.withLock { last in
        if last != text { call.diagnostic(text) }
        last = text
      }
    }
  }

  func end() {
    if call.hasScreen { _ = Console.raw(Terminal.eraseLine) }
  }
}
