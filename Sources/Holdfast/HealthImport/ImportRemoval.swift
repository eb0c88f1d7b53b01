import HoldfastCore
import HoldfastExportFiles
import HoldfastFeaturePorts
import HoldfastHealthSamples

/// The last step of an import, which removes samples that the export does not contain and creates
/// the counts.
struct ImportRemoval {
  /// The result of the removal.
  struct Outcome {
    var removal: HealthImport.Removal
    /// The number of removed samples, by type.
    var removed: [String: Int] = [:]
    /// Whether the import was stopped.
    var isStopped = false
  }

  /// The result of a second reading.
  private enum Rereading {
    case same, changed, stopped
  }

  private let store: any HealthStore
  private let replaces: Bool
  /// The samples stored before the import.
  private let before: [HealthTypeSummary]
  private let newestBefore: Timestamp?

  /// Records the state of the store before samples are added.
  init(_ store: any HealthStore, replaces: Bool) async throws(HealthImport.Failure) {
    (self.store, self.replaces) = (store, replaces)
    do throws(StoreFailure) {
      let stored = try await store.summary()
      let newest = try await store.newestExport()
      before = stored
      // If no export was imported, the newest sample replaces the date, because no sample is newer
      // than its export.
      newestBefore = newest ?? stored.map(\.last).max()
    } catch {
      throw .store(error)
    }
  }

  /// Removes the samples that the export does not contain, if this is permitted, and records the
  /// date and coverage of the export.
  func run(
    _ work: ImportRun, isComplete: Bool, _ isStopped: @Sendable () -> Bool,
    _ note: @Sendable (HealthImport.Progress) -> Void
  ) async throws(HealthImport.Failure) -> Outcome {
    let counts = work.reader.counts
    var reconciliation = ImportReconciliation(exported: counts.exported)
    do throws(StoreFailure) {
      let stored = try await store.summary().map(\.type)
      if isComplete, let unread = counts.unread, !counts.samples.isEmpty || replaces {
        reconciliation.covered = work.sampleCounts.covered(
          until: replaces ? Timestamp(nanoseconds: .max) : counts.exported, except: unread,
          stored: stored)
      }
      var outcome = Outcome(removal: permission(reconciliation))
      if outcome.removal == .done {
        let suspects = HealthSuspects(
          try await suspects(reconciliation.covered, stored, work.sampleCounts))
        outcome = try await find(suspects, work, isStopped, note)
        if outcome.removal == .done {
          (reconciliation.intervals, reconciliation.replaces) = (suspects.intervals, replaces)
          if counts.unread != [] { outcome.removal = .incomplete }
        }
      }
      outcome.removed = try await store.reconcile(reconciliation)
      return outcome
    } catch {
      throw .store(error)
    }
  }

  /// Returns `.done` if the import may remove samples, or the reason why it may not.
  private func permission(_ reconciliation: ImportReconciliation) -> HealthImport.Removal {
    guard !reconciliation.covered.isEmpty else { return .incomplete }
    guard !replaces else { return .done }
    guard let exported = reconciliation.exported else { return .undated }
    if let newestBefore, exported < newestBefore { return .older }
    return .done
  }

  /// Marks the samples of the export that are in suspect intervals.
  private func find(
    _ suspects: HealthSuspects, _ work: ImportRun, _ isStopped: @Sendable () -> Bool,
    _ note: @Sendable (HealthImport.Progress) -> Void
  ) async throws(StoreFailure) -> Outcome {
    guard !suspects.intervals.isEmpty else { return Outcome(removal: .done) }
    guard work.file.canRepeat else { return Outcome(removal: .unrepeatable) }
    switch try await reread(suspects, work, isStopped, note) {
    case .same: return Outcome(removal: .done)
    case .changed: return Outcome(removal: .unrepeatable)
    case .stopped: return Outcome(removal: .incomplete, isStopped: true)
    }
  }

  /// Returns the parts of the covered time in which the store and the export differ.
  private func suspects(
    _ covered: [CoverageInterval], _ stored: [String], _ sampleCounts: SampleCounts
  ) async throws(StoreFailure) -> [CoverageInterval] {
    var found: [CoverageInterval] = []
    let totals = try await store.totals()
    for type in stored where !sampleCounts.isAll(type, stored: totals[type]) {
      guard var interval = covered.first(where: { $0.applies(to: type) }) else { continue }
      interval.type = type
      found += sampleCounts.suspects(interval, stored: try await store.counts(interval))
    }
    return found
  }

  /// Reads the export again, and marks in the store the samples that are in suspect intervals.
  private func reread(
    _ suspects: HealthSuspects, _ work: ImportRun, _ isStopped: @Sendable () -> Bool,
    _ note: @Sendable (HealthImport.Progress) -> Void
  ) async throws(StoreFailure) -> Rereading {
    var progress = work.progress
    (progress.stage, progress.bytes) = (.comparing, 0)
    var fingerprint = HealthFingerprint()
    var marks = HealthMarks()
    var reader = HealthExportReader()
    var piece = [UInt8](repeating: 0, count: ImportRun.piece)
    try await store.clearMarks()
    guard (try? work.file.rewind()) != nil else { return .changed }
    while true {
      if isStopped() || Task.isCancelled { return .stopped }
      guard let count = try? work.file.read(into: &piece) else { return .changed }
      let read = piece[..<count]
      if count > 0 { reader.append(read.span) } else { reader.finish() }
      do {
        while let batch = try reader.next() {
          fingerprint.add(batch)
          suspects.mark(batch, in: &marks)
        }
      } catch {
        return .changed
      }
      if marks.isFull || count == 0 {
        try await store.mark(marks)
        marks = HealthMarks()
      }
      progress.bytes += count
      note(progress)
      if count == 0 { return fingerprint == work.fingerprint ? .same : .changed }
    }
  }

  /// Returns the counts of each type.
  func report(
    _ sampleCounts: SampleCounts, _ counts: ExportCounts, removed: [String: Int]
  ) async throws(HealthImport.Failure) -> [HealthImport.TypeReport] {
    let after: [HealthTypeSummary]
    do throws(StoreFailure) {
      after = try await store.summary()
    } catch {
      throw .store(error)
    }
    let (old, new) = (Self.counts(before), Self.counts(after))
    let read = Set(counts.samples.keys).union(counts.skippedOfType.keys)
    return read.union(removed.keys).sorted().map { type in
      var report = HealthImport.TypeReport(type: type)
      report.removed = removed[type] ?? 0
      report.stored = new[type] ?? 0
      report.added = report.stored - (old[type] ?? 0) + report.removed
      report.repeated = sampleCounts.repeated(type)
      report.outdated = sampleCounts.outdated(type)
      report.kept =
        (counts.samples[type] ?? 0) - report.repeated - report.outdated - report.added
      report.skipped = counts.skippedOfType[type] ?? 0
      return report
    }
  }

  private static func counts(_ summaries: [HealthTypeSummary]) -> [String: Int] {
    // A store may have a type twice, with two forms of an accent.
    Dictionary(summaries.map { ($0.type, $0.count ?? 0) }) { $0 + $1 }
  }
}
