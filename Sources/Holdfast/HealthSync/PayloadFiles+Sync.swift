import HoldfastCore
import HoldfastOwnerFiles

// The files of pending batches, and the list of the synced types.
extension PayloadFiles {
  private static let folder = "health-sync"

  /// Creates a reference to the files of a sync in a data directory. Batches are far smaller than
  /// the limit.
  init(in root: String) { self.init(root: root, folder: Self.folder, maxBytes: 64 << 20) }

  /// Writes a body to a file with a new name. Returns the path of the file, relative to the data
  /// directory.
  func write(_ bytes: [UInt8]) throws(StoreFailure) -> String {
    try write(bytes, as: "batch_\(UUID128.random()).json")
  }

  /// Stores the list of the synced types, which a launch reads before the queue is open, also
  /// before the first unlock of the device.
  ///
  /// Without the list, a launch observes nothing until the queue is open.
  func keep(asked types: [String]) {
    guard types != asked else { return }
    try? listFile.replace(with: Array(types.joined(separator: "\n").utf8))
  }

  /// The stored list of the synced types; empty if there is none or it cannot be read now.
  var asked: [String] {
    guard let bytes = try? listFile.read() else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The file of the list. It contains names of types and no health data.
  var listFile: OwnerFile {
    OwnerFile(
      "\(root)/\(folder)-types", maxBytes: 1 << 16, isSecret: false,
      isReadableWhileLocked: true)
  }
}
