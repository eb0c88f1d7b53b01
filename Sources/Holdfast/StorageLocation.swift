public import Foundation
import HoldfastPorts

/// The location of a feature's stored data.
///
/// A feature opens the store when it is created and closes it at its own end. A store that the app
/// supplies stays open, since the app may share it.
public enum StorageLocation<Store: Sendable>: Sendable {
  /// A directory, which is created with mode 0700 if it is missing. Only one process at a time may
  /// write to it.
  case directory(String)
  /// The memory of this process. The data is lost at its end.
  case memory
  /// A store that the app opens and closes.
  case store(Store)

  /// Returns the location for a directory, such as `.applicationSupportDirectory`.
  ///
  /// - Parameter url: The file URL of the directory.
  public static func directory(_ url: URL) -> StorageLocation {
    .directory(url.path(percentEncoded: false))
  }
}
