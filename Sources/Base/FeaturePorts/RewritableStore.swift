public import HoldfastCore
public import HoldfastPorts

/// A store in files that can be written anew.
public protocol RewritableStore: SuspendableStore {
  /// Writes the files anew, so that none of them contains anything that was removed.
  ///
  /// Other calls wait meanwhile, about a second for 300 MB. The disk needs room for a second copy.
  ///
  /// - Throws: `.locked` if another program is reading the store. The call can be repeated.
  func rewrite() async throws(StoreFailure)
}
