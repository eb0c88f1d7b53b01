import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastHealthSync
import HoldfastSQLiteStores
import HoldfastTestKit

/// Two exports of a generated person. Some samples of the older export are missing from the newer
/// one.
struct SyncExports: Sendable {
  let older: String
  let newer: String
  /// The data directory of the phone.
  let phone: String

  /// The number of days from 1970-01-01 to 2025-10-20.
  private static let firstDay = 20_381
  private static let density = 0.2
  /// The types that are synced by default.
  private static let types = SyncTypes.usual

  init(seed: UInt64, in directory: String) throws(DemoFailure) {
    (older, newer) = ("\(directory)/older.xml", "\(directory)/newer.xml")
    phone = "\(directory)/phone"
    var generator = HealthExportGenerator(
      HealthExportGenerator.Plan(
        seed: seed, firstDay: Self.firstDay, days: 14, density: Self.density))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    let text = String(decoding: bytes, as: UTF8.self)
    do {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: URL(fileURLWithPath: older))
      try Data(Self.thinned(text).utf8).write(to: URL(fileURLWithPath: newer))
    } catch {
      throw .setup("exports could not be written in \(directory)")
    }
  }

  /// Returns the export with a later date and without every tenth step sample.
  private static func thinned(_ text: String) -> String {
    var steps = 0
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      guard line.contains("<Record type=\"HKQuantityTypeIdentifierStepCount\""),
        line.hasSuffix("/>")
      else { return true }
      steps += 1
      return steps % 10 != 5
    }
    let thin = lines.joined(separator: "\n")
    guard let start = thin.range(of: "<ExportDate"),
      let value = thin.range(of: "value=\"", range: start.upperBound..<thin.endIndex)
    else { return thin }
    let end = thin.index(value.upperBound, offsetBy: 10)
    return thin.replacingCharacters(in: value.upperBound..<end, with: "2025-12-01")
  }

  /// Imports an export. Returns the change in the number of samples.
  func bring(_ export: String) async throws(DemoFailure) -> Int {
    do {
      let store = try await HoldfastPlatform.healthStore(in: phone)
      let before = try await store.summary().reduce(0) { $0 + ($1.count ?? 0) }
      _ = try await HealthImport.run(export, into: store)
      let after = try await store.summary().reduce(0) { $0 + ($1.count ?? 0) }
      await store.close()
      return after - before
    } catch {
      throw .setup("the health data could not be imported: \(error)")
    }
  }

  /// Compares all samples of the phone with the samples of a server that is not running.
  func compare(with server: String) async throws(DemoFailure) -> SyncCounts {
    do {
      let phone = try await HoldfastPlatform.healthStore(in: phone)
      let theirs = try await SQLiteSyncStore.open(in: server)
      let own = try await Self.count { query in try await phone.samples(query) }
      let held = try await Self.count { query in try await theirs.samples(query, of: "me") }
      await phone.close()
      await theirs.close()
      return SyncCounts(own, held)
    } catch {
      throw .setup("the two sides could not be compared: \(error)")
    }
  }

  /// Returns the number of samples for each combination of type, source, start and end.
  private static func count(
    _ page: (HealthSampleQuery) async throws -> HealthSamplePage
  ) async throws -> [String: Int] {
    var query = HealthSampleQuery(
      types: types, from: Timestamp(nanoseconds: 0), to: Timestamp(nanoseconds: .max))
    var found: [String: Int] = [:]
    while true {
      let next = try await page(query)
      for sample in next.samples {
        let key =
          "\(sample.type)|\(sample.source)|\(sample.start.nanoseconds)|\(sample.end.nanoseconds)"
        found[key, default: 0] += 1
      }
      guard let position = next.next else { return found }
      query.after = position
    }
  }
}

/// Counts of samples, by the result of the comparison.
struct SyncCounts: Sendable, Hashable {
  /// The number of the phone's samples.
  var samples = 0
  /// The number of the phone's samples that are missing on the server.
  var lost = 0
  /// The number of the server's samples that the phone does not have, such as repeated or deleted
  /// samples.
  var surplus = 0

  init(_ phone: [String: Int], _ server: [String: Int]) {
    samples = phone.values.reduce(0, +)
    lost = phone.reduce(0) { $0 + max(0, $1.value - server[$1.key, default: 0]) }
    surplus = server.reduce(0) { $0 + max(0, $1.value - phone[$1.key, default: 0]) }
  }

  /// The ledger's section about the sync.
  var section: LedgerSection {
    LedgerSection(
      "sync",
      [
        .init("samples", samples, isGood: samples > 0),
        .init("lost", lost, isGood: lost == 0),
        .init("twice or not deleted", key: "surplus", surplus, isGood: surplus == 0),
      ])
  }
}
