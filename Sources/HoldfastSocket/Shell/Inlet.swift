package import LinkCore
import LinkDriver
import Synchronization

/// Posts inputs to the driver. Closed on stop, which breaks the retain cycle of driver and shell.
package final class Inlet<M: Journaled>: Sendable {
  private let driver = Mutex<Driver<M>?>(nil)

  /// An inlet that drops inputs until it is opened.
  package init() {}

  /// Names the driver; before that and after `close`, inputs are dropped.
  func open(to driver: Driver<M>) {
    self.driver.withLock { $0 = driver }
  }

  func close() {
    driver.withLock { $0 = nil }
  }

  /// Posts inputs in order; waits for room in the driver's inbox.
  ///
  /// Do not await it where the driver waits for the caller: only the driver can make room.
  package func post(_ inputs: [M.Input]) async {
    guard let driver = driver.withLock(\.self) else { return }
    await driver.post(contentsOf: inputs)
  }
}
