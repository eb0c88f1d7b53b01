package import HoldfastLinuxEvents

/// A connection that carries each note to all nodes, also to its sender. A carrier that misses notes
/// throws an error.
package protocol NoteCarrier {
  /// A descriptor that can be read when notes have arrived; negative if `WakeSignal` is sent instead.
  var descriptor: Int32 { get }

  /// Sends a note. The call does not wait for the other nodes.
  func send(_ note: String) throws(NodeBusFailure)

  /// Returns the notes that have arrived, without waiting.
  func notes() throws(NodeBusFailure) -> [String]
}

/// A function that opens a connection for notes. It returns when all notes sent from then on at the
/// same server will arrive. The signal reports arrivals if there is no descriptor.
package typealias NoteCarrierOpening =
  @Sendable (WakeSignal) throws(NodeBusFailure) -> any NoteCarrier

/// The reason why notes cannot be sent, or do not arrive.
package struct NodeBusFailure: Error, Sendable, Hashable {
  /// A reason for operators. It contains no credentials.
  package var detail: String

  /// Creates a failure.
  package init(_ detail: String) { self.detail = detail }
}
