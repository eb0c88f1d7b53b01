import ExportFiles
import LinkCore
public import LinkHealth
public import LinkRuntime
public import LinkWire

/// Brings an export of Apple Health into a health store.
///
/// Reads while the store writes, one batch ahead; memory does not grow with the file. What is in
/// the store already is found by its content, whole stretches at once, so that a second import of
/// the same or a newer export adds what is new at the speed of reading.
public enum HealthImport {
  /// How far it has come.
  public struct Progress: Sendable, Hashable {
    /// Bytes of XML that were read.
    public var bytes = 0
    /// How many there are, when that is known.
    public var total: Int?
    /// Samples that the store has taken.
    public var addition = HealthAddition()
  }

  /// What came of it.
  public struct Report: Sendable, Hashable {
    /// What was found and what was left out.
    public var tally: HealthExportTally
    /// What was new.
    public var addition: HealthAddition
    /// What the file in the zip is called; `nil` for a plain XML.
    public var entry: String?
    /// Why it ended.
    public var ending: Ending
  }

  /// Why it ended. Whatever was added before stays.
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

  /// Why nothing was imported, or no more.
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file does not open, or is no export; what it is instead.
    case file(String)
    case store(StoreFailure)

    public var description: String {
      switch self {
      case .file(let reason): reason
      case .store(let failure): failure.description
      }
    }
  }

  /// Imports a file, off the caller's actor.
  ///
  /// - Parameters:
  ///   - path: An XML, or a zip that holds one.
  ///   - clock: Dates the import, for answers that tell how fresh they are.
  ///   - isStopped: Asked often; true ends it early.
  ///   - note: Told often how far it is.
  @concurrent
  public static func run(
    _ path: String, into store: any HealthStore, clock: any LinkClock = BootClock(),
    isStopped: @Sendable () -> Bool = { false },
    note: @Sendable (Progress) -> Void = { _ in }
  ) async throws(Failure) -> Report {
    let file: ExportFile
    do {
      file = try ExportFile(path: path)
    } catch {
      throw .file(error.description)
    }
    var work = ImportRun(file, into: store)
    let ending = try await work.readAll(isStopped, note)
    try await work.settle()
    if ending != .stopped { try await work.noteEnd(at: clock.wall) }
    return Report(
      tally: work.reader.tally, addition: work.progress.addition, entry: file.entry,
      ending: ending)
  }
}

/// One import at work.
private struct ImportRun {
  /// Bytes read at a time: enough that calls do not count, little enough for a cache.
  private static let piece = 256 << 10

  private let store: any HealthStore
  private let file: ExportFile
  private(set) var reader = HealthExportReader()
  private(set) var progress = HealthImport.Progress()
  private var pending: Task<Result<HealthAddition, StoreFailure>, Never>?

  init(_ file: ExportFile, into store: any HealthStore) {
    self.file = file
    self.store = store
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
      reader.append(piece.span.extracting(0..<count))
      try await addBatches()
      progress.bytes += count
      note(progress)
    }
    reader.finish()
    try await addBatches()
    try await settle()
    note(progress)
    guard ending == .complete else { return ending }
    return reader.tally.isWhole ? .complete : .truncated
  }

  private mutating func addBatches() async throws(HealthImport.Failure) {
    while true {
      let batch: HealthBatch?
      do {
        batch = try reader.next()
      } catch {
        try await settle()
        throw .file(error.description)
      }
      guard let batch else { return }
      try await settle()
      pending = Task { [store] in
        do throws(StoreFailure) {
          return .success(try await store.add(batch))
        } catch {
          return .failure(error)
        }
      }
    }
  }

  /// Remembers when the import ended.
  func noteEnd(at time: Timestamp) async throws(HealthImport.Failure) {
    do throws(StoreFailure) {
      try await store.noteImport(at: time)
    } catch {
      throw .store(error)
    }
  }

  /// Waits for the store, which has one batch at a time.
  mutating func settle() async throws(HealthImport.Failure) {
    guard let pending else { return }
    self.pending = nil
    switch await pending.value {
    case .success(let addition): progress.addition += addition
    case .failure(let failure): throw .store(failure)
    }
  }
}
