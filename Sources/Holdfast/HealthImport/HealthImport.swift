import ExportFiles
public import LinkCore
public import LinkHealth
public import LinkRuntime

/// Brings an export of Apple Health into a health store.
///
/// Reads while the store writes, one batch ahead; memory does not grow with the file, whatever
/// changed in it. What is in the store already is found by its content, whole stretches at once, so
/// that a second import of the same or a newer export adds what is new at the speed of reading.
public enum HealthImport {
  /// The point that an import has reached.
  public struct Progress: Sendable, Hashable {
    /// What an import does.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
      /// Adds what is new.
      case adding
      /// Reads the export once more, to find what is not in it any more.
      case comparing
    }

    /// What the import does now.
    public var stage = Stage.adding
    /// Bytes of XML that were read in this stage.
    public var bytes = 0
    /// How many there are, when that is known.
    public var total: Int?
    /// Samples that the store has taken.
    public var addition = HealthAddition()
  }

  /// The result of an import.
  public struct Report: Sendable, Hashable {
    /// What was found and what was left out.
    public var tally: HealthExportTally
    /// What was new.
    public var addition: HealthAddition
    /// What the file in the zip is called; `nil` for a plain XML.
    public var entry: String?
    /// Why it ended.
    public var ending: Ending
    /// What became of the samples of each type, ordered by HealthKit's identifier.
    public var types: [TypeReport]
    /// Whether samples that the export does not hold were removed.
    public var removal: Removal
  }

  /// The counts of what became of the samples of one type. Those read are added, kept, repeated,
  /// outdated or skipped; those stored are those stored before, and added, less those removed.
  public struct TypeReport: Sendable, Hashable {
    /// HealthKit's identifier.
    public var type: String
    /// Read, and new.
    public var added = 0
    /// Read, and stored already.
    public var kept = 0
    /// Stored before, in the time that the export covers, and not in it any more.
    public var removed = 0
    /// Read more than once in the export.
    public var repeated = 0
    /// Read and left out: a newer export covers their time and does not hold them, so that they
    /// were deleted at their source.
    public var outdated = 0
    /// Left out, since they cannot be used.
    public var skipped = 0
    /// Stored now.
    public var stored = 0

    /// No samples.
    public init(type: String) { self.type = type }
  }

  /// An answer to whether samples that an export does not hold were removed.
  public enum Removal: Sendable, Hashable {
    /// Those that begin up to the date of the export were.
    case done
    /// No: a newer export was imported before, or the store holds samples that are newer.
    case older
    /// No: the export does not say when it was written.
    case undated
    /// No, or not of the types in `HealthExportTally.unread`: the export was not read to its end, or
    /// not a second time, or it holds no sample, or something in it cannot be read.
    case incomplete
    /// No: what was read cannot be read again to compare it, such as a pipe, or it changed.
    case unrepeatable
  }

  /// The reason for which an import ended. Whatever was added before stays.
  public enum Ending: Sendable, Hashable {
    /// At the end of the export.
    case complete
    /// The end of the file is missing.
    case truncated
    /// It was told to stop.
    case stopped
    /// The file cannot be read any further; why.
    case damaged(String)
  }

  /// The reason for which nothing was imported, or no more.
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file does not open, or is no export; what it is instead.
    /// And what to do about it; `nil` where the reason says it.
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
  ///   - path: An XML, or a zip that holds one.
  ///   - replaces: Removes what the export does not hold even if it is not the newest one, and adds
  ///     all that it holds.
  ///   - clock: Dates the import, for answers that tell how fresh they are.
  ///   - isStopped: Asked often; true ends it early.
  ///   - note: Told often how far it is.
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
    try await work.settle()
    let tally = work.reader.tally
    let outcome = try await removing.run(work, isComplete: ending == .complete, isStopped, note)
    if outcome.isStopped { ending = .stopped }
    let types = try await removing.report(work.census, tally, removed: outcome.removed)
    if ending != .stopped { try await work.noteEnd(at: clock.wall) }
    return Report(
      tally: tally, addition: work.progress.addition, entry: file.entry, ending: ending,
      types: types, removal: outcome.removal)
  }
}
