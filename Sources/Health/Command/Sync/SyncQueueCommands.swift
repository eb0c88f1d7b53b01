import Foundation
import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastJSON
import HoldfastSyncData
import HoldfastUploads

/// The commands `holdfast health status`, `reset` and `retry`, which act on the queue of `health
/// sync`.
enum SyncQueueCommands {
  static var all: [Command] { [statusCommand, resetCommand, retryCommand] }

  private static let type = Parameter.operand(
    Format.text("TYPE"), "the type, by HealthKit's identifier or its end, such as StepCount")

  private static var statusCommand: Command {
    Command(
      "status", "show what is synced, what waits, and what is quarantined and why",
      details: [
        """
        Reads only the data directory, in which `health sync` may be running. With --json each \
        type is one object: event "type", type, synced (records that servers have accepted since \
        the last reset, or since all was read again for another server, person or epoch), pending \
        and quarantined (batches), anchor, lastAccepted; whose progress it is: event "owner", server, \
        user, epoch; and each quarantined batch: event "batch", type, file, records, deletions, state \
        "quarantined", reason.
        """
      ],
      examples: [
        .init("holdfast health status", "one line per type, and one per quarantined batch")
      ],
      takes: Shared.writtenData, Shared.json, action: status)
  }

  private static var resetCommand: Command {
    Command(
      "reset", "read a type anew, from 30 days before the newest export",
      details: [
        """
        Forgets how far the type was read and how much was synced. The next `health sync` reads \
        the samples of 30 days again, and all deletions that the store knows; a server that has \
        them counts them as duplicates. Batches \
        of the type that wait are sent nevertheless, and those that are quarantined wait again, since \
        they may hold deletions that are nowhere else; those whose files are missing are \
        forgotten. No `health sync` may be running with this \
        data directory.
        """
      ],
      examples: [.init("holdfast health reset StepCount", "the steps of 30 days again")],
      takes: Shared.data, Shared.json, type, action: reset)
  }

  private static var retryCommand: Command {
    Command(
      "retry", "send quarantined batches again",
      details: [
        """
        The next `health sync` sends them, in their old order. No `health sync` may be running \
        with this data directory. With --json each batch is one object: event "batch", type, \
        file, records, deletions, state "queued", reason.
        """
      ],
      examples: [.init("holdfast health retry", "all quarantined batches")],
      takes: Shared.data, Shared.json, action: retry)
  }

  private static func status(_ call: Invocation) async throws(CommandFailure) {
    let queue = try await stored(in: try call.dataDirectory())
    let quarantined = queue.batches.filter { $0.quarantined != nil }
    guard !call[Shared.json] else {
      for report in reports(of: queue) { write(report.type, report.report, call) }
      if let owner = queue.owner { write(owner, call) }
      for batch in quarantined { write(batch, .quarantined, call) }
      return
    }
    guard !queue.types.isEmpty || !queue.batches.isEmpty else {
      return call.diagnostic("nothing was synced yet")
    }
    var table = Table("type", "synced", "pending", "quarantined", "last accepted")
    for (type, report) in reports(of: queue) {
      table.row(
        HealthCommands.short(report.type), "\(report.synced)", "\(report.pending)",
        "\(report.quarantined)",
        type.lastAccepted.map { RFC3339.format(SyncTime($0).instant) } ?? "")
    }
    call.console.table(table)
    if let owner = queue.owner { call.console.line("with \(owner.description.printable)") }
    guard !quarantined.isEmpty else { return }
    var reasons = Table("quarantined", "samples", "deletions", "reason")
    for batch in quarantined {
      reasons.row(
        batch.file, "\(batch.records)", "\(batch.deletions)", batch.quarantined ?? "")
    }
    call.console.line("")
    call.console.table(reasons)
  }

  private static func reset(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    try await change(call) { queue throws(CommandFailure) in
      let known = SyncTypes.usual + queue.types.map(\.type) + queue.batches.map(\.type)
      let type = try SyncTypeNames.type(call[type], among: known)
      let batches = queue.batches.filter { $0.type == type }
      let missing = batches.filter { isMissing($0, directory) }
      let quarantined = batches.filter { $0.quarantined != nil && !isMissing($0, directory) }
      return (
        [.anchor(type: type, nil)] + missing.map { .remove(file: $0.file) }
          + quarantined.map { .quarantine(file: $0.file, reason: nil) },
        {
          if call[Shared.json] {
            let report = SyncTypeReport(
              type: type, pending: batches.count - missing.count, quarantined: 0, synced: 0,
              anchor: nil)
            write(SyncedType(type: type), report, call)
          } else {
            call.console.line("\(HealthCommands.short(type)) is read anew by the next sync")
          }
        }
      )
    }
  }

  /// Returns whether the file of a batch is missing. Such a batch cannot be sent, and only a reset
  /// helps.
  private static func isMissing(_ batch: QueuedBatch, _ directory: String) -> Bool {
    let path = "\(directory)/\(batch.file)"
    return !FileManager.default.fileExists(atPath: path)
  }

  private static func retry(_ call: Invocation) async throws(CommandFailure) {
    try await change(call) { queue in
      let quarantined = queue.batches.filter { $0.quarantined != nil }
      return (
        quarantined.map { .quarantine(file: $0.file, reason: nil) },
        {
          if call[Shared.json] {
            for batch in quarantined { write(batch, .queued, call) }
          } else if quarantined.isEmpty {
            call.diagnostic("no batch is quarantined")
          } else {
            let count =
              quarantined.count == 1 ? "1 batch waits" : "\(quarantined.count) batches wait"
            call.console.line("\(count) for the next sync")
          }
        }
      )
    }
  }

  /// Changes the queue and prints the result.
  private static func change(
    _ call: Invocation,
    _ steps: (StoredSyncQueue) throws(CommandFailure) -> ([SyncQueueStep], say: () -> Void)
  ) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    // The queue is opened for reading first, so that a missing queue is not created.
    _ = try await stored(in: directory)
    let (queue, store) = try await CommandFailure.catching { () throws(StoreFailure) in
      let store = try await HoldfastPlatform.syncQueue(in: directory)
      return (try await store.stored(), store)
    }
    let say = try await store.closing { () throws(CommandFailure) in
      let (changes, say) = try steps(queue)
      try await CommandFailure.catching { () throws(StoreFailure) in
        try await store.apply(changes)
      }
      return say
    }
    say()
  }

  private static func stored(in directory: String) async throws(CommandFailure) -> StoredSyncQueue {
    try await CommandFailure.catching { () throws(StoreFailure) in
      let store = try await HoldfastPlatform.syncQueue(in: directory, forReading: true)
      return try await store.closing { () throws(StoreFailure) in try await store.stored() }
    }
  }

  /// Returns the report for each type that was read or has batches.
  private static func reports(
    of queue: StoredSyncQueue
  ) -> [(type: SyncedType, report: SyncTypeReport)] {
    let named = Set(queue.types.map(\.type) + queue.batches.map(\.type) + queue.asked)
    return named.sorted().map { name in
      let type = queue.types.first { $0.type == name } ?? SyncedType(type: name)
      let batches = queue.batches.filter { $0.type == name }
      let quarantined = batches.count { $0.quarantined != nil }
      return (
        type,
        SyncTypeReport(
          type: name, pending: batches.count - quarantined, quarantined: quarantined,
          synced: type.synced,
          anchor: type.anchor)
      )
    }
  }

  private static func write(_ type: SyncedType, _ report: SyncTypeReport, _ call: Invocation) {
    call.console.object {
      $0.entry("event", "type")
      report.write(to: &$0)
      $0.entry("lastAccepted", type.lastAccepted.map { RFC3339.format($0) })
    }
  }

  private static func write(_ owner: SyncOwner, _ call: Invocation) {
    call.console.object {
      $0.entry("event", "owner")
      $0.entry("server", owner.server)
      $0.entry("user", owner.user)
      $0.entry("epoch", owner.epoch)
    }
  }

  private static func write(
    _ batch: QueuedBatch, _ state: SyncBatchReport.State, _ call: Invocation
  ) {
    call.console.object {
      $0.entry("event", "batch")
      SyncBatchReport(
        type: batch.type, file: batch.file, records: batch.records, deletions: batch.deletions,
        state: state, reason: batch.quarantined.map { .text($0) }
      ).write(to: &$0)
    }
  }
}
