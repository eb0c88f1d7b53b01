import HoldfastBackups
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON

/// The command `holdfast backup`: copies a data directory into one file, also while it is served.
package enum BackupCommand {
  private static let to = Parameter.required(
    "to", .text("FILE"), "write the backup to this file (mode 600), outside the data directory")
  private static let replace = Parameter.flag(
    "replace", "replace FILE if it exists, once the new backup is complete")

  package static var command: Command {
    Command(
      "backup", "copy a backend's data directory into one file, also while it is served",
      details: [
        """
        All stores are copied as of one moment, for which posts wait a few milliseconds, and at most \
        about half a second. The copies are checked. The file is a tar archive of the stores, images, unfinished \
        uploads, removed members, secrets and any other file directly in the directory. Its last member, \
        SHA256SUMS, can be checked by sha256sum after unpacking. Whoever can read the file can \
        issue tokens: encrypt it before it leaves the machine.
        """,
        """
        Run it as the user of the backend, or as root. It needs room for the copies beside FILE, in \
        FILE.draft, and write-ahead logs of the data directory grow while stores are copied. Files \
        elsewhere, such as certificates and those that options of `serve` name, are not in it. If \
        the stores are in PostgreSQL (--database), it has only the files; back up the database with the \
        tools of PostgreSQL.
        """,
        """
        With --json the result is one object: file, bytes, sha256 (of FILE), files, stores (names), \
        wait_ms (milliseconds for which writers waited; null without stores), images_missing (images \
        whose file was lost before), left_out (entries of the directory that are not in it).
        """,
      ],
      examples: [
        .init(
          "holdfast backup --data /var/lib/holdfast --to /backups/holdfast-$(date +%F).tar",
          "of a running backend"),
        .init("tar -tvf /backups/holdfast-2026-11-29.tar", "list what is in it"),
      ],
      takes: Shared.writtenData, to, replace, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let (file, replaces) = (call[to], call[replace])
    let view = BackupView(call)
    let made = try await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: { () async throws(CommandFailure) in
      try await CommandFailure.converting { () async throws(BackupError) -> DataBackup.Report? in
        try await DataBackup.run(
          of: directory, to: file, replaces: replaces, program: Release.version, report: view.show)
      }
    }
    view.end()
    guard let made else {
      throw CommandFailure(.failed, "ended by a signal; no backup was written")
    }
    if !made.leftOut.isEmpty {
      call.diagnostic("not in the backup: \(made.leftOut.joined(separator: ", "))")
    }
    if made.missingImages > 0 {
      call.diagnostic("the files of \(made.missingImages) images are missing in the directory")
    }
    if made.stores.isEmpty {
      call.diagnostic("there are no stores in \(directory); back up the database, too")
    }
    show(made, file, call)
  }

  private static func show(_ made: DataBackup.Report, _ file: String, _ call: Invocation) {
    let wait = made.wait.map { Int($0.nanoseconds / 1_000_000) }
    let waited = wait.map { "; writers waited \($0) ms" } ?? ""
    call.put("\(file): \(made.files) files, \(made.bytes) bytes\(waited); SHA-256 \(made.sum)") {
      $0.entry("file", file)
      $0.entry("bytes", made.bytes)
      $0.entry("sha256", made.sum)
      $0.entry("files", made.files)
      $0.entry("stores", made.stores)
      $0.entry("wait_ms", wait)
      $0.entry("images_missing", made.missingImages)
      $0.entry("left_out", made.leftOut)
    }
  }
}
