import HoldfastCore
import HoldfastExportFiles
import HoldfastFeaturePorts
import HoldfastHealthSamples

/// The first reading of an import. It adds samples to the store.
struct ImportRun {
  /// The number of bytes read at a time.
  ///
  /// With this number, the overhead of the calls is small, and the bytes fit into a CPU cache.
  static let piece = 256 << 10

  private let store: any HealthStore
  private let replaces: Bool
  /// The intervals that newer exports cover, or `nil` until the date of this export is known.
  private var newer: [CoverageInterval]?
  let file: ExportFile
  private(set) var reader = HealthExportReader()
  /// The sample counts of the export, for the comparison with the store.
  private(set) var sampleCounts = SampleCounts()
  /// The fingerprint of this reading, for the comparison with a second one.
  private(set) var fingerprint = HealthFingerprint()
  private(set) var progress = HealthImport.Progress()
  private var pending: Task<Result<HealthAddition, StoreFailure>, Never>?

  init(_ file: ExportFile, into store: any HealthStore, replaces: Bool) {
    (self.file, self.store, self.replaces) = (file, store, replaces)
    progress.total = file.size
  }

  mutating func readAll(
    _ isStopped: @Sendable () -> Bool, _ note: @Sendable (HealthImport.Progress) -> Void
  ) async throws(HealthImport.Failure) -> HealthImport.Ending {
    var piece = [UInt8](repeating: 0, count: Self.piece)
    var ending = HealthImport.Ending.complete
    while true {
      if isStopped() || Task.isCancelled { return .stopped }
      let count: Int
      do {
        count = try file.read(into: &piece)
      } catch {
        ending = .damaged(error.description)
        break
      }
      guard count > 0 else { break }
      let read = piece[..<count]
      reader.append(read.span)
      try await addBatches()
      progress.bytes += count
      note(progress)
    }
    reader.finish()
    try await addBatches()
    try await drain()
    note(progress)
    guard ending == .complete else { return ending }
    return reader.counts.isWhole ? .complete : .truncated
  }

  private mutating func addBatches() async throws(HealthImport.Failure) {
    while true {
      let next: HealthBatch?
      do {
        next = try reader.next()
      } catch {
        try await drain()
        throw .file(error.description, remedy: error.remedy)
      }
      guard let read = next else { return }
      fingerprint.add(read)
      let batch = try await withoutOutdated(read)
      sampleCounts.add(batch)
      try await drain()
      pending = Task { [store] in
        do throws(StoreFailure) {
          return .success(try await store.add(batch))
        } catch {
          return .failure(error)
        }
      }
    }
  }

  /// Returns the batch without the samples that a newer export covers in time but does not contain.
  ///
  /// The removed samples were deleted at their source.
  private mutating func withoutOutdated(
    _ batch: HealthBatch
  ) async throws(HealthImport.Failure) -> HealthBatch {
    do throws(StoreFailure) {
      if newer == nil, let exported = reader.counts.exported {
        let all = try await replaces ? [] : store.coverages()
        newer = all.filter { $0.exported > exported }.map(\.interval)
      }
      guard let newer, !newer.isEmpty else { return batch }
      let missing = try await store.missing(batch, in: newer)
      sampleCounts.leaveOut(batch, missing)
      return batch.without(missing)
    } catch {
      throw .store(error)
    }
  }

  /// Records that the import has begun. Returns the start of an earlier one that has not ended.
  func noteBegin(at time: Timestamp) async throws(HealthImport.Failure) -> Timestamp? {
    do throws(StoreFailure) {
      let before = try await store.stored().unfinished?.since
      try await store.noteUnfinished(since: time)
      return before
    } catch {
      throw .store(error)
    }
  }

  /// Records the time at which the import ended, and whether it reached the end of its export.
  func noteEnd(at time: Timestamp, isComplete: Bool) async throws(HealthImport.Failure) {
    do throws(StoreFailure) {
      try await store.noteImport(at: time)
      if isComplete { try await store.noteUnfinished(since: nil) }
    } catch {
      throw .store(error)
    }
  }

  /// Records again what was recorded before an import of a file that is no export.
  func noteNothing(since before: Timestamp?) async {
    guard progress.addition.added == 0 else { return }
    // If this fails, answers still say that an import has not ended.
    try? await store.noteUnfinished(since: before)
  }

  /// Waits until the store has processed the pending batch. It processes one batch at a time.
  mutating func drain() async throws(HealthImport.Failure) {
    guard let pending else { return }
    self.pending = nil
    switch await pending.value {
    case .success(let addition): progress.addition += addition
    case .failure(let failure): throw .store(failure)
    }
  }
}
