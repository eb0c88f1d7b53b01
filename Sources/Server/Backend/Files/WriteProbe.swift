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
    let file = OwnerFile("\(place(of: directory))/write-probe", maxBytes: size, isSecret: false)
    do throws(OwnerFileError) {
      try file.replace(with: [UInt8](repeating: 0, count: size))
      try file.remove()
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  /// Returns a directory, or its parent if it does not exist yet.
  static func place(of directory: String) -> String {
    guard unsafe access(directory, F_OK) != 0 else { return directory }
    return OwnerFile.directory(of: directory)
  }
}
