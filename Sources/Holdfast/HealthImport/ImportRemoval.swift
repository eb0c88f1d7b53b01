import ExportFiles
import LinkCore
import LinkHealth
import LinkRuntime
import LinkWire

/// The end of an import: removes what the export does not hold, and counts what became of all.
struct ImportRemoval {
  private let store: any HealthStore
  private let path: String
  private let replaces: Bool
  /// What was stored before.
  private let before: [HealthTypeSummary]
  private let newestBefore: Timestamp?

  /// Looks at the store before anything is added.
  init(
    _ store: any HealthStore, path: String, replaces: Bool
  ) async throws(HealthImport.Failure) {
    (self.store, self.path, self.replaces) = (store, path, replaces)
    do throws(StoreFailure) {
      let stored = try await store.summary()
      let newest = try await store.newestExport()
      before = stored
      // A store of an earlier version does not know; no sample is newer than its export.
      newestBefore = newest ?? stored.map(\.last).max()
    } catch {
      throw .store(error)
    }
  }

  /// Removes what the export does not hold, if it may; returns how much that was, by type.
  func run(
    _ census: HealthCensus, _ tally: HealthExportTally, isComplete: Bool, canRepeat: Bool
  ) async throws(HealthImport.Failure) -> (HealthImport.Removal, [String: Int]) {
    guard isComplete else { return (.incomplete, [:]) }
    if !replaces {
      guard let exported = tally.exported else { return (.undated, [:]) }
      if let newestBefore, exported < newestBefore { return (.older, [:]) }
    }
    do throws(StoreFailure) {
      let suspects = try await suspects(census)
      var settlement = HealthSettlement(exported: tally.exported)
      if !suspects.isEmpty {
        let again = canRepeat ? reread(suspects, expecting: tally.total) : nil
        guard let again else { return (.unrepeatable, [:]) }
        (settlement.removals, settlement.spans) = (again.all, again.spans)
      }
      return (.done, try await store.settle(settlement))
    } catch {
      throw .store(error)
    }
  }

  /// The parts of the covered time in which the store holds something else than the export.
  private func suspects(_ census: HealthCensus) async throws(StoreFailure) -> [HealthStretch] {
    var found: [HealthStretch] = []
    for summary in try await store.summary() where !census.isAll(summary) {
      guard let covered = census.covered(summary.type) else { continue }
      found += census.suspects(summary.type, stored: try await store.counts(covered))
    }
    return found
  }

  /// Reads the export once more; `nil` if it is not what it was.
  private func reread(_ suspects: [HealthStretch], expecting total: Int) -> HealthRemovalCollector?
  {
    var collector = HealthRemovalCollector(suspects)
    var reader = HealthExportReader()
    var piece = [UInt8](repeating: 0, count: ImportRun.piece)
    do {
      let file = try ExportFile(path: path)
      while true {
        let count = try file.read(into: &piece)
        if count > 0 { reader.append(piece.span.extracting(0..<count)) } else { reader.finish() }
        while let batch = try reader.next() { collector.add(batch) }
        if count == 0 { break }
      }
    } catch {
      return nil
    }
    return collector.count == total ? collector : nil
  }

  /// Counts what became of the samples of each type.
  func report(
    _ census: HealthCensus, _ tally: HealthExportTally, removed: [String: Int]
  ) async throws(HealthImport.Failure) -> [HealthImport.TypeReport] {
    let after: [HealthTypeSummary]
    do throws(StoreFailure) {
      after = try await store.summary()
    } catch {
      throw .store(error)
    }
    let (old, new) = (Self.counts(before), Self.counts(after))
    let read = Set(tally.samples.keys).union(tally.skippedOfType.keys)
    return read.union(removed.keys).sorted().map { type in
      var report = HealthImport.TypeReport(type: type)
      report.removed = removed[type] ?? 0
      report.stored = new[type] ?? 0
      report.added = report.stored - (old[type] ?? 0) + report.removed
      report.repeated = census.repeated(type)
      report.kept = (tally.samples[type] ?? 0) - report.repeated - report.added
      report.skipped = tally.skippedOfType[type] ?? 0
      return report
    }
  }

  private static func counts(_ summaries: [HealthTypeSummary]) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: summaries.map { ($0.type, $0.count) })
  }
}
