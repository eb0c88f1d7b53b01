import CSQLite
import LinkCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// Translates SQLite's result codes (sqlite.org/rescode.html) into the port's words.
///
/// - Parameters:
///   - code: The extended result code.
///   - system: The `errno` behind an I/O error, 0 when there was none.
///   - text: SQLite's own text; it names tables and columns, never values.
func storeFailure(code: Int32, system: Int32, text: String, path: String) -> StoreFailure {
  let detail = "\(path): \(text) (SQLite \(code))."
  if system == ENOSPC || system == EDQUOT || system == EFBIG {
    return .full(detail: "\(detail) The disk or a quota is full; free some space and try again.")
  }
  return switch code & 0xFF {
  case SQLITE_FULL:
    .full(detail: "\(detail) The disk or a quota is full; free some space and try again.")
  case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
    .locked(detail: "\(detail) Another program is using the file; end it or try again.")
  case SQLITE_CORRUPT, SQLITE_NOTADB:
    .corrupt(detail: "\(detail) The file was left as it is; move it away to begin anew.")
  case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
    .denied(detail: "\(detail) Check the owner and the permissions of the file and its directory.")
  case _: .other(detail: detail)
  }
}
