package import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The rules by which a system refuses access to files. They determine what its errors mean.
package enum FileRules: Sendable, Hashable {
  /// Owners and permissions: Linux, Android and macOS.
  case permissions
  /// Also the lock of the device: iOS, watchOS and related systems. Files are encrypted until the
  /// first unlock of the device. Until then, opening one fails with `EPERM`.
  case deviceLock

  /// The rules of this system.
  package static var current: Self {
    #if canImport(Darwin) && !os(macOS)
      .deviceLock
    #else
      .permissions
    #endif
  }

  /// The kinds of refusals that a store distinguishes.
  package enum Refusal: Sendable, Hashable {
    /// The disk or a quota is full.
    case full
    /// The device has to be unlocked first.
    case locked
    /// Owner, permissions or kind of the file do not permit the action.
    case denied
    /// Any other cause.
    case other
  }

  /// Returns the kind of refusal that an `errno` stands for.
  package func refusal(_ code: Int32) -> Refusal {
    switch code {
    case ENOSPC, EDQUOT, EFBIG: .full
    case EPERM where self == .deviceLock: .locked
    case EACCES, EPERM, EROFS, ENOTDIR, EISDIR: .denied
    case _: .other
    }
  }
}

extension StoreFailure {
  /// Creates the failure of an action that the operating system refused. It contains a remedy.
  package init(
    _ action: String, _ path: String, code: Int32, under rules: FileRules = .current
  ) {
    let detail = "Cannot \(action) \(path): \(SystemCall.reason(of: code))."
    self =
      switch rules.refusal(code) {
      case .full: .full(detail: "\(detail) Free some space and try again.")
      case .locked: .needsUnlock(detail)
      case .denied:
        .denied(
          detail: "\(detail) Check the owner and the permissions, or choose another directory.")
      case .other: .other(detail: detail)
      }
  }

  /// Creates the failure that corresponds to an error of a small file at `path`.
  package init(_ error: OwnerFileError, at path: String, under rules: FileRules = .current) {
    self =
      switch error {
      case .openToOthers, .noFile, .tooLarge: .denied(detail: "\(path): \(error)")
      case .noDirectory(let directory, let code):
        .init("create", directory, code: code, under: rules)
      case .refused(let action, let code): .init(action, path, code: code, under: rules)
      }
  }

  /// Returns the failure of a file that the lock of the device protects.
  package static func needsUnlock(_ detail: String) -> Self {
    .locked(detail: "\(detail) The device may be locked; try again after its next unlock.")
  }
}
