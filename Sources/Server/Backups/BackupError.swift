public import HoldfastCore
import HoldfastExportFiles
public import HoldfastOperators
import HoldfastOwnerFiles

/// The reason why a backup was not made or not restored. Nothing is left of it then.
public enum BackupError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A store or a file cannot be read or written.
  case store(StoreFailure)
  /// The archive at the path cannot be used.
  case archive(path: String, BackupFault)
  /// A path cannot be used, for this cause and with this remedy.
  case place(cause: String, remedy: String)

  /// A human-readable description of the cause.
  public var description: String {
    switch self {
    case .store(let failure): "\(failure)"
    case .archive(let path, let fault): "\(path) \(fault)"
    case .place(let cause, let remedy): "\(cause); \(remedy)"
    }
  }

  /// Creates the error of an action that the system refused.
  static func refused(_ action: String, _ path: String, code: Int32) -> Self {
    .store(StoreFailure(action, path, code: code))
  }

  /// Creates the error of an archive that cannot be written.
  static func unwritten(_ failure: TarFailure, _ path: String) -> Self {
    switch failure {
    case .system(let code): refused("write", path, code: code)
    case .damaged(let reason): .store(.other(detail: "Cannot write \(path): \(reason)."))
    case .size: .store(.other(detail: "A file became smaller while it was copied. Run it again."))
    }
  }

  /// Creates the error of an archive that cannot be read.
  static func unread(_ failure: TarFailure, _ path: String) -> Self {
    switch failure {
    case .system(let code): refused("read", path, code: code)
    case .damaged(let reason): .archive(path: path, .cut(reason: reason))
    case .size: .archive(path: path, .cut(reason: "a member has another size"))
    }
  }

  /// Runs `work`, and converts the failure of a store.
  static func catching<Value>(
    _ work: () throws(StoreFailure) -> Value
  ) throws(BackupError) -> Value {
    do throws(StoreFailure) { return try work() } catch { throw .store(error) }
  }

  /// Runs `work` on a queue of its own, since it waits for the disk all the time.
  ///
  /// It runs in the task of the caller, so it learns at once that the task is cancelled. An
  /// unstructured task could be complete by then.
  static func onQueue<Value: Sendable>(
    _ work: @Sendable () async throws(BackupError) -> Value
  ) async throws(BackupError) -> Value {
    try await withTaskExecutorPreference(FileQueue(label: "holdfast.backup")) {
      () async throws(BackupError) -> Value in
      try await work()
    }
  }
}

/// A step of a backup or a restore, for people who wait.
public enum BackupStep: Sendable, Hashable {
  /// So many files were copied or read so far.
  case files(Int)
  /// So many pages of a store were copied.
  case store(file: String, pages: Int, total: Int)
  /// The structure of a store is being checked.
  case check(file: String)
}
