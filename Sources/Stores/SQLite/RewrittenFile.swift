package import HoldfastCore
import HoldfastFeaturePorts

extension SQLiteFile: RewritableStore {
  package func rewrite() throws(StoreFailure) {
    // A read first checks that the store is open.
    let tables = try read { tables throws(StoreFailure) in tables }
    // Pages that were divided may contain copies of rows that were deleted since, which
    // `secure_delete` does not find.
    do throws(StoreFailure) {
      try tables.database.execute("VACUUM")
    } catch {
      tables.forget()
      throw error
    }
    tables.forget()
    guard try tables.database.truncateLog() else {
      throw .locked(detail: "The write-ahead log is in use by another program; end that program.")
    }
  }
}
