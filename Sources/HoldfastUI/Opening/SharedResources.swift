import Holdfast
import HoldfastCore
import HoldfastPorts

/// The stores that were opened for one model of `HoldfastLinks`.
@MainActor final class SharedResources {
  private var stores: [any SuspendableStore] = []
  /// A function that is called once with this object, at the end of `close()`. The next screen then
  /// gets a new model.
  private var onClose: (@MainActor (SharedResources) -> Void)?

  /// A function that connects the model again if its link gave up while the app was in the
  /// background.
  var onForeground: (@MainActor () -> Void)?

  init(onClose: @escaping @MainActor (SharedResources) -> Void = { _ in }) {
    self.onClose = onClose
  }

  /// Adds a store and returns it. The store is closed, suspended and resumed together with the
  /// model.
  func keep<S: SuspendableStore>(_ store: S) -> S {
    stores.append(store)
    return store
  }

  /// Releases the locks of the stores.
  func suspend() async {
    for store in stores { await store.suspend() }
  }

  /// Acquires the locks of the stores again.
  ///
  /// - Throws: `.locked` while another process holds one.
  func resume() async throws(StoreFailure) {
    for store in stores { try await store.resume() }
  }

  /// Closes the stores of an attempt to open the model.
  func closeStores() async {
    for store in stores { await store.close() }
    stores = []
  }

  /// Closes the stores and removes the model.
  func close() async {
    await closeStores()
    onForeground = nil
    onClose.take()?(self)
  }
}
