package import LinkCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

extension StoreFailure {
  /// The failure of an action that the operating system refused, with a remedy.
  package init(_ action: String, _ path: String, code: Int32) {
    let detail = "Cannot \(action) \(path): \(SystemCall.reason(of: code))."
    self =
      switch code {
      case ENOSPC, EDQUOT, EFBIG: .full(detail: "\(detail) Free some space and try again.")
      case EACCES, EPERM, EROFS, ENOTDIR, EISDIR:
        .denied(
          detail: "\(detail) Check the owner and the permissions, or choose another directory.")
      case _: .other(detail: detail)
      }
  }

  /// The failure of a small file at `path`.
  package init(_ error: OwnerFileError, at path: String) {
    self =
      switch error {
      case .openToOthers, .noFile, .tooLarge: .denied(detail: "\(path): \(error)")
      case .noDirectory(let directory, let code): .init("create", directory, code: code)
      case .refused(let action, let code): .init(action, path, code: code)
      }
  }
}
