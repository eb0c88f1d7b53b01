import ExportFiles
public import LinkCore
public import LinkHealth
public import LinkRuntime

/// An import of an Apple Health export into a health store.
///
/// The import reads while the store writes, one batch ahead. Its memory does not grow with the
/// file, whatever changed in it. Samples that are already stored are found by their content, in
/// whole intervals, so a second import of the same or a newer export adds the new samples at
/// reading speed.
public enum HealthImport {
  /// The progress of an import.
  public struct Progress: Sendable, Hashable {
    /// A stage of an import.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
      /// Adds new samples.
      case adding
      /// Reads the export again, to find stored samples that it no longer contains.
      case comparing
    }

    /// The current stage.
    public var stage = Stage.adding
    /// The number of XML bytes read in this stage.
    public var bytes = 0
    /// The total number of bytes, if known.
    public var total: Int?
    /// The samples added to the store.
    public var addition = HealthAddition()
  }

  /// The result of an import.
  public struct Report: Sendable, Hashable {
    /// The counts of samples found and skipped in the export.
    public var counts: ExportCounts
    /// The samples added to the store.
    public var addition: HealthAddition
    /// The name of the file in the zip archive; `nil` for plain XML.
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
  /// The samples read are those added, kept, repeated, outdated or skipped. The samples stored are
  /// those stored before, plus those added, minus those removed.
  public struct TypeReport: Sendable, Hashable {
    /// The HealthKit identifier of the type.
    public var type: String
    /// The number of new samples in the export.
    public var added = 0
    /// The number of samples in the export that were already stored.
    public var kept = 0
    /// The number of removed samples, which the export covers but no longer contains.
    public var removed = 0
    /// The number of repeated samples in the export.
    public var repeated = 0
    /// The number of skipped samples that a newer export covers but does not contain.
    ///
    /// They were deleted at their source.
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
    /// Nothing was removed: a newer export was imported before, or the store has newer samples.
    case older
    /// Nothing was removed: the export has no date.
    case undated
    /// Nothing was removed, or nothing of the types in `ExportCounts.unread`.
    ///
    /// The export was not read to its end or not a second time, it contains no sample, or a part of
    /// it cannot be read.
    case incomplete
    /// Nothing was removed: the export cannot be read again for the comparison, such as a pipe, or
    /// it changed.
    case unrepeatable
  }

  /// The reason why an import ended. Samples added before remain stored.
  public enum Ending: Sendable, Hashable {
    /// The end of the export was reached.
    case complete
    /// The end of the file is missing.
    case truncated
    /// The import was stopped.
    case stopped
    /// The rest of the file cannot be read, with the reason.
    case damaged(String)
  }

  /// The reason why an import failed.
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file cannot be opened or is not an export.
    ///
    /// The values are what the file is, and a remedy; `nil` if the first value suffices.
    case file(String, remedy: String?)
    case store(StoreFailure)

    public var description: String {
      switch self {
      case .file(let reason, let remedy): remedy.map { "\(reason); \($0)" } ?? reason
      case .store(let failure): failure.description
      }
    }
  }

  /// Imports a file, off the caller's actor.
  ///
  /// - Parameters:
  ///   - path: The path of an XML file, or of a zip archive that contains one.
  ///   - replaces: Whether the import removes every sample that the export does not contain, even
  ///     if it is not the newest export, and adds all of its samples.
  ///   - clock: The clock that dates the import, for answers that state their age.
  ///   - isStopped: Called often; returning true ends the import early.
  ///   - note: Called often with the progress.
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
    var ending = try await work.readAll(isStopped, note)
    try await work.drain()
    let counts = work.reader.counts
    let outcome = try await removing.run(work, isComplete: ending == .complete, isStopped, note)
    if outcome.isStopped { ending = .stopped }
    let types = try await removing.report(work.sampleCounts, counts, removed: outcome.removed)
    if ending != .stopped { try await work.noteEnd(at: clock.wall) }
    return Report(
      counts: counts, addition: work.progress.addition, entry: file.entry, ending: ending,
      types: types, removal: outcome.removal)
  }
}
