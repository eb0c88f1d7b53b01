import Glibc
import HoldfastCore
import HoldfastOwnerFiles

/// A check that files can be written to a directory.
enum WriteProbe {
  /// The size of the file that is written and removed. The checks of the databases require the same
  /// free space.
  private static let size = 65_536

  /// Writes and removes a file.
  ///
  /// If the directory does not exist yet, the file is written to its parent.
  static func run(in directory: String) throws(StoreFailure) {
    let exists = unsafe access(directory, F_OK) == 0
    let parent = directory.lastIndex(of: "/").map { String(directory[..<$0]) } ?? "."
    let file = OwnerFile(
      "\(exists ? directory : parent)/write-probe", maxBytes: size, isSecret: false)
    do throws(OwnerFileError) {
      try file.replace(with: [UInt8](repeating: 0, count: size))
      try file.remove()
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }
}
