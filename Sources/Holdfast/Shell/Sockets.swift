import LinkCore
import LinkRuntime

/// The sockets of a shell by their attempts, also while they are being made.
struct Sockets {
  private var open: [AttemptID: any SocketHandle] = [:]
  /// Attempts whose handle is not there yet.
  private var opening: Set<AttemptID> = []

  /// A socket is asked for.
  mutating func begin(_ attempt: AttemptID) { opening.insert(attempt) }

  /// It is there; it may have failed, or all may have ended, while it was made.
  mutating func keep(_ socket: any SocketHandle, for attempt: AttemptID) {
    if opening.remove(attempt) != nil { open[attempt] = socket }
  }

  /// It has failed.
  mutating func forget(_ attempt: AttemptID) {
    opening.remove(attempt)
    open[attempt] = nil
  }

  /// The socket of an attempt, to be closed; the rest of it is nobody's.
  mutating func take(_ attempt: AttemptID) -> (any SocketHandle)? {
    opening.remove(attempt)
    return open.removeValue(forKey: attempt)
  }

  /// Lets go of those that are being made; says which are there, oldest first.
  mutating func end() -> [AttemptID] {
    opening = []
    return open.keys.sorted()
  }

  subscript(attempt: AttemptID) -> (any SocketHandle)? { open[attempt] }
}
