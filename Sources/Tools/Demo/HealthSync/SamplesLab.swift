import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastOwnerFiles
import HoldfastSyncChecks
import HoldfastTestKit

/// A phone in the lab that uploads its health samples. New ones come from an export that is replaced.
actor SamplesLab: LabFeature {
  nonisolated let name = "sync"
  nonisolated let title = "Health sync"
  nonisolated let writes = "anything: one more day of samples"
  nonisolated let app = App.sync

  private static let pause = Duration.seconds(15)
  /// The number of days from 1970-01-01 to 2025-10-20.
  private static let lastStart = 20_381
  private static let density = 0.2
  /// The maximum number of days. An export of more would take too long to read again.
  private static let mostDays = 60
  private static let firstDays = 7

  private let parts: LabParts
  private var firstDay = SamplesLab.lastStart
  private var days = SamplesLab.firstDays

  init(_ parts: LabParts) { self.parts = parts }

  private var export: String { parts.scratch("sync-export.xml") }
  private var secret: String { parts.scratch("sync-secret") }

  func prepare() async throws(DemoFailure) -> [String] {
    try writeExport()
    try await renew()
    return parts.arguments(app, ["--secret-file", secret, "--watch", export])
  }

  nonisolated func trace(
    of journal: String, start: Instant, startedAt: Timestamp
  ) -> any LiveTrace {
    LiveJournalTrace(SyncFeature.self, journal: journal, start: start, startedAt: startedAt)
  }

  func work(on phone: Phone) async { await each(Self.pause) { await addDay() } }

  func say(_ text: String, on phone: Phone) async { await addDay() }

  /// Copies the secret that the backend has created.
  func renew() async throws(DemoFailure) {
    do {
      let file = "\(parts.backend.directory)/sync-secrets"
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      let fields = lines.last?.split(separator: " ") ?? []
      guard fields.count >= 2 else { throw CocoaError(.fileReadCorruptFile) }
      try OwnerFile(secret, maxBytes: 4_096, isSecret: true).replace(with: Array(fields[1].utf8))
    } catch {
      throw .setup("the secret of the sync could not be read: \(error)")
    }
  }

  /// Adds a day to the export. One with too many days is replaced with one of earlier days.
  private func addDay() async {
    if days < Self.mostDays {
      days += 1
    } else {
      (firstDay, days) = (firstDay - Self.mostDays, Self.firstDays)
      await parts.report(
        name, .server("The export is full. The next one begins again, with earlier days."))
    }
    do throws(DemoFailure) {
      try writeExport()
    } catch {
      await parts.report(name, .server("\(error)"))
    }
  }

  private func writeExport() throws(DemoFailure) {
    var generator = HealthExportGenerator(
      HealthExportGenerator.Plan(
        seed: 1, firstDay: firstDay, days: days, density: Self.density))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    do throws(OwnerFileError) {
      try OwnerFile(export, maxBytes: .max, isSecret: true).replace(with: bytes)
    } catch {
      throw .setup("the export of health data could not be written: \(error)")
    }
  }
}
