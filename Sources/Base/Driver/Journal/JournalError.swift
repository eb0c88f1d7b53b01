import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

extension JournalError {
  /// Returns the error for the last system call, with the description of `errno`.
  static func cannot(_ action: String, _ path: String) -> JournalError {
    let reason = unsafe String(cString: strerror(errno))
    return JournalError(path: path, .file("cannot \(action) it: \(reason)"))
  }
}
