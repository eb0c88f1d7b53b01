import Holdfast

/// What was opened for one model of `HoldfastLinks`.
@MainActor final class Holdings {
  private var stores: [any Store] = []
  /// Called once, at the end of the first `close()`: the next screen gets a new model.
  private var onClose: (@MainActor () -> Void)?

  init(onClose: @escaping @MainActor () -> Void) { self.onClose = onClose }

  /// Returns a store that is closed, suspended and resumed with the model.
  func keep<S: Store>(_ store: S) -> S {
    stores.append(store)
    return store
  }

  /// Gives up the locks of the stores.
  func suspend() async {
    for store in stores { await store.suspend() }
  }

  /// Takes the locks again.
  ///
  /// - Throws: `.locked` while another process holds one.
  func resume() async throws(StoreFailure) {
    for store in stores { try await store.resume() }
  }

  /// Closes the stores; the model is forgotten.
  func close() async {
    for store in stores { await store.close() }
    stores = []
    onClose.take()?()
  }
}
