import Foundation
import HoldfastBackups
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import Synchronization

/// The command `holdfast migrate`: moves a backend's stores from SQLite files to PostgreSQL, or back.
package enum MigrateCommand {
  private static let from = Parameter.required(
    "from", .text("PLACE"), "the data directory, or the URL of the database, to move from")
  private static let to = Parameter.required(
    "to", .text("PLACE"), "the URL of the database, or the data directory, to move to")

  package static var command: Command {
    Command(
      "migrate", "move a backend's data between SQLite files and PostgreSQL",
      details: [
        """
        Copies messages with their images, the relay's phones, sessions and synced samples, then reads both places again \
        and compares counts and hashes. No backend may use them meanwhile. A move that was \
        interrupted continues when the command is run again, and until it is complete the destination is \
        not served. Then the source is not served any more; its rows stay. Unfinished uploads, \
        removed members and secrets stay files of the data directory, so continue to serve from \
        it. The database's password comes from PGPASSWORD or PGPASSFILE.
        """,
        """
        With --json each table is one object: table, rows, hash (HMAC with SHA-256, chained over the \
        rows).
        """,
      ],
      examples: [
        .init(
          "holdfast migrate --from /var/lib/holdfast --to postgres://holdfast@db1,db2/holdfast",
          "to PostgreSQL; then add --database with this URL to `serve`"),
        .init(
          "holdfast migrate --from postgres://holdfast@db1,db2/holdfast --to /var/lib/holdfast",
          "back to files, after the former ones were moved away"),
      ],
      takes: from, to, Shared.json, action: run)
  }

  private static func isURL(_ place: String) -> Bool {
    place.hasPrefix("postgres://") || place.hasPrefix("postgresql://")
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let places = (call[from], call[to])
    guard isURL(places.0) != isURL(places.1) else {
      throw CommandFailure(
        .usage, "--from and --to must be a data directory and the URL of a database",
        remedy: "write the URL as postgres://user@host1,host2/database")
    }
    let isReturn = isURL(places.0)
    let (directory, database) = isReturn ? (places.1, places.0) : places
    try call.demandOwned(directory)
    let view = MigrationView(call)
    let tables = try await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: { () async throws(CommandFailure) in
      try await CommandFailure.catching { () throws(StoreFailure) in
        try await StoreMove.run(
          directory: directory, database: database, isReturn: isReturn, report: view.show)
      }
    }
    view.end()
    guard let tables else {
      throw CommandFailure(
        .failed, "ended by a signal before everything was moved",
        remedy: "run it again; it continues where it ended")
    }
    show(tables, call)
    if isReturn, !FileManager.default.fileExists(atPath: "\(directory)/secret") {
      call.diagnostic(
        "copy secret, session-key, sync-secrets and removed.json from the data directory of a node to "
          + "\(directory); without them every token is void")
    }
    call.diagnostic(
      isReturn
        ? "moved; serve the files with: holdfast serve --data \(directory)"
        : "moved; serve the database with: holdfast serve --data \(directory) --database \(database)"
    )
  }

  private static func show(_ tables: [StoreMove.Table], _ call: Invocation) {
    guard !call[Shared.json] else {
      for table in tables {
        call.console.object {
          $0.entry("table", table.name)
          $0.entry("rows", table.rows)
          $0.entry("hash", table.hash)
        }
      }
      return
    }
    var lines = Table("table", "rows", "hash")
    for table in tables { lines.row(table.name, "\(table.rows)", String(table.hash.prefix(16))) }
    for line in lines.lines(call.console.style) { call.console.line(line) }
  }
}

/// The progress of a move: a line on a terminal, else a diagnostic for each table.
private final class MigrationView: Sendable {
  private let call: Invocation
  private let shown = Mutex("")

  init(_ call: Invocation) { self.call = call }

  @Sendable func show(_ progress: StoreMove.Progress) {
    let text =
      switch progress.part {
      case .copying: "copied \(progress.rows) of \(progress.total) \(progress.table)"
      case .comparing: "compared \(progress.rows) of \(progress.total) \(progress.table)"
      }
    if call.hasScreen {
      _ = Console.raw(Terminal.eraseLine + text)
    } else if progress.rows == progress.total, !call[Shared.json] {
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
