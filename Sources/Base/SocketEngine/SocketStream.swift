package import HoldfastCore
package import HoldfastProtocols

/// A byte stream over which a `SocketConnection` runs: first a dial, then the connected stream.
///
/// Contract: no call blocks. The owner of the socket calls `finishDial` once after the dial ends, and
/// `wakeUp` when a call that returned `.wouldBlock` may succeed. Releasing the stream closes it.
package protocol SocketStream: AnyObject {
  /// The upgrade request and the parser of its response.
  var handshake: ClientHandshake { get }
  /// The URL, with the HTTP scheme.
  var url: String { get }
  /// The phase of the dial that is in progress.
  var dialPhase: LinkFailure.Phase { get }
  /// The phases of the dial that have ended, for the notes of a journal; `nil` if the stream does
  /// not know them.
  var phases: ConnectionNote.Opening? { get }
  /// The number of bytes that `write` has taken and that the system has not accepted.
  var pendingBytes: Int { get }

  /// Prepares the stream for reading and writing after the dial has succeeded. Returns the failure
  /// if this is not possible.
  func becomeReady() -> LinkFailure?

  /// Writes some of the bytes. After `.wouldBlock`, the caller repeats the same bytes at the same
  /// address.
  func write(_ bytes: ArraySlice<UInt8>) -> StreamWriting

  /// Reads bytes that have arrived, and passes them to `take` before the call returns.
  func read(_ take: (RawSpan) -> Void) -> StreamReading
}

extension SocketStream {
  package var phases: ConnectionNote.Opening? { nil }
}

/// The result of writing to a stream.
package enum StreamWriting: Sendable, Equatable {
  /// This number of bytes was written, which is at least 1.
  case bytes(Int)
  /// No bytes were written. The caller must wait until the stream is ready.
  case wouldBlock
  /// The stream can no longer be written to. It may still be readable.
  case failed(LinkFailure)
}

/// The result of reading from a stream.
package enum StreamReading: Sendable, Equatable {
  /// Bytes were read. Further ones may be available.
  case bytes
  /// No bytes have arrived. The caller must wait until the stream is ready.
  case wouldBlock
  /// The peer has ended the stream.
  case ended
  /// The stream has failed.
  case failed(LinkFailure)
}

/// The limits of a socket that are not part of its request.
package struct SocketLimits: Sendable, Equatable {
  /// The maximum number of queued bytes. Above it, `send` returns `.full`.
  package var maxQueuedBytes: Int
  /// The maximum number of frames in a message. A message with more frames is discarded unread.
  package var maxFragments: Int

  /// Creates limits from their numbers.
  package init(maxQueuedBytes: Int, maxFragments: Int) {
    self.maxQueuedBytes = maxQueuedBytes
    self.maxFragments = maxFragments
  }
}
