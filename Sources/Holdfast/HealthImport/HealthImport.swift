public import HoldfastCore
import HoldfastExportFiles
public import HoldfastFeaturePorts
public import HoldfastHealthSamples
public import HoldfastPorts

/// An import of an Apple Health export into a health store.
///
/// The import reads one batch ahead while the store writes. Its memory use does not depend on the
/// size of the file. Samples that are already stored are recognized by their content, often many at
/// once. A second import of the same or a newer export is therefore as fast as reading the file.
public enum HealthImport {
  /// The progress of an import.
  public struct Progress: Sendable, Hashable {
    /// A stage of an import.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
      /// The stage in which new samples are added.
      case adding
      /// The stage in which the export is read again to find stored samples that it no longer
      /// contains.
      case comparing
    }

    /// The current stage.
    public var stage = Stage.adding
    /// The number of XML bytes read in this stage.
    public var bytes = 0
    /// The total number of bytes, if it is known.
    public var total: Int?
    /// The samples added to the store.
    public var addition = HealthAddition()
  }

  /// The result of an import.
  public struct Report: Sendable, Hashable {
    /// The counts of the samples that were found and skipped in the export.
    public var counts: ExportCounts
    /// The samples added to the store.
    public var addition: HealthAddition
    /// The name of the file in the zip archive, or `nil` if the file is plain XML.
    public var entry: String?
    /// The reason why the import ended.
    public var ending: Ending
    /// The counts for each type, ordered by HealthKit's identifier.
    public var types: [TypeReport]
    /// Whether samples that the export does not contain were removed.
    public var removal: Removal
  }

  /// The counts of an import for one type.
  ///
  /// Each sample read is either added, kept, repeated, outdated or skipped. The number of stored
  /// samples is the number stored before, plus those added, minus those removed.
  public struct TypeReport: Sendable, Hashable {
    /// HealthKit's identifier of the type.
    public var type: String
    /// The number of new samples in the export.
    public var added = 0
    /// The number of samples in the export that were already stored.
    public var kept = 0
    /// The number of removed samples. The export covers their time but no longer contains them.
    public var removed = 0
    /// The number of repeated samples in the export.
    public var repeated = 0
    /// The number of samples that were skipped because a newer export covers their time but does
    /// not contain them.
    ///
    /// These samples were deleted at their source.
    public var outdated = 0
    /// The number of samples that were skipped because they cannot be used.
    public var skipped = 0
    /// The number of samples stored after the import.
    public var stored = 0

    /// Creates a report whose counts are zero.
    public init(type: String) { self.type = type }
  }

  /// Whether samples that an export does not contain were removed, and the reason if not.
  public enum Removal: Sendable, Hashable {
    /// Samples that start before the export's date were removed.
    case done
    /// No samples were removed, because a newer export was imported earlier or the store has newer
    /// samples.
    case older
    /// No samples were removed, because the export has no date.
    case undated
    /// No samples were removed, or none of the types in `ExportCounts.unread`.
    ///
    /// The export was not read completely, was not read a second time, contains no sample, or has
    /// an unreadable part.
    case incomplete
    /// No samples were removed, because the export could not be read again for comparison (for
    /// example, from a pipe) or has changed.
    case unrepeatable
  }

  /// The reason why an import ended. Samples that were added before remain stored.
  public enum Ending: Sendable, Hashable {
    /// The end of the export was reached.
    case complete
    /// The end of the file is missing.
    case truncated
    /// The import was stopped.
    case stopped
    /// The rest of the file cannot be read, for the given reason.
    case damaged(String)
  }

  /// The reason why an import failed.
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file cannot be opened or is not an export.
    ///
    /// The values are a description of the problem and a remedy. The remedy is `nil` if the
    /// description includes it.
    case file(String, remedy: String?)
    case store(StoreFailure)

    public var description: String {
      switch self {
      case .file(let reason, let remedy): remedy.map { "\(reason); \($0)" } ?? reason
      case .store(let failure): failure.description
      }
    }
  }

  /// Imports a file, without blocking the caller's actor.
  ///
  /// - Parameters:
  ///   - path: The path of an XML file, or of a zip archive that contains one.
  ///   - replaces: Whether the import adds all samples of the export and removes every sample that
  ///     it does not contain, even if it is not the newest export.
  ///   - clock: The clock that provides the time of the import. Answers use this time to state
  ///     their freshness.
  ///   - isStopped: A closure that is called often. If it returns true, the import ends early.
  ///   - note: A closure that is called often with the progress.
  @concurrent
  public static func run(
    _ path: String, into store: any HealthStore, replaces: Bool = false,
    clock: any LinkClock = BootClock(), isStopped: @Sendable () -> Bool = { false },
    note: @Sendable (Progress) -> Void = { _ in }
  ) async throws(Failure) -> Report {
    let file: ExportFile
    do {
      file = try ExportFile(path: path)
    } catch {
      throw .file(error.description, remedy: error.remedy)
    }
    let removing = try await ImportRemoval(store, replaces: replaces)
    var work = ImportRun(file, into: store, replaces: replaces)
    let before = try await work.noteBegin(at: clock.wall)
    var ending: Ending
    do throws(Failure) {
      ending = try await work.readAll(isStopped, note)
    } catch {
      if case .file = error { await work.noteNothing(since: before) }
      throw error
    }
    try await work.drain()
    let counts = work.reader.counts
    let outcome = try await removing.run(work, isComplete: ending == .complete, isStopped, note)
    if outcome.isStopped { ending = .stopped }
    let types = try await removing.report(work.sampleCounts, counts, removed: outcome.removed)
    if ending != .stopped {
      try await work.noteEnd(at: clock.wall, isComplete: ending == .complete)
    }
    return Report(
      counts: counts, addition: work.progress.addition, entry: file.entry, ending: ending,
      types: types, removal: outcome.removal)
  }
}
