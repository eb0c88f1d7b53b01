import HoldfastPorts
import Synchronization

/// The claim of an open socket on the store of its durable outbox.
///
/// Two sockets on one store would send and remove each other's messages.
final class OutboxClaim: Sendable {
  private static let claimed = Mutex<Set<ObjectIdentifier>>([])

  /// The claimed store, until the claim ends. It is kept, so that no other store has its identifier.
  private let store: Mutex<(any OutboxStore)?>

  /// Claims the store of an outbox. An outbox without a store needs no claim.
  ///
  /// - Throws: `.configuration` if another socket uses the store.
  init(_ outbox: SocketConfiguration.Outbox) throws(OpenError) {
    guard case .durable(let store) = outbox else {
      self.store = Mutex(nil)
      return
    }
    let id = ObjectIdentifier(store as AnyObject)
    let isFree = Self.claimed.withLock { $0.insert(id).inserted }
    self.store = Mutex(isFree ? store : nil)
    if isFree { return }
    throw .configuration(
      "an open socket uses this outbox; close that socket first, or open a store of its own in "
        + "another directory")
  }

  /// Ends the claim, if the socket could not be opened.
  deinit { end() }

  /// Ends the claim. Calling it again has no effect.
  func end() {
    guard let store = store.withLock({ $0.take() }) else { return }
    _ = Self.claimed.withLock { $0.remove(ObjectIdentifier(store as AnyObject)) }
  }
}
