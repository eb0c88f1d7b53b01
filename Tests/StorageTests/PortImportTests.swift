import HoldfastPorts
import Testing

/// A test with the names that a file with an adapter of the device uses, and only its import.
///
/// The test also checks that this code compiles.
@Suite struct PortImportTests {
  @Test func `an adapter's file can name each type in the signatures of the ports`() {
    let types: [Any.Type] = [
      Instant.self, LinkFailure.self, OutboxMessage.self, PathID.self, PathTraits.self,
      Reachability.self, Secret.self, SocketMessage.self, StoreFailure.self, StoredOutbox.self,
      Timestamp.self, WakeResult.self,
    ]
    #expect(types.count == 12)
  }
}
