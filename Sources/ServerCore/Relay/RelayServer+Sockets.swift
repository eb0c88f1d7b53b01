import LinkCore
import LinkWire

extension RelayServer {
  func isOpen(_ id: ConnectionID) -> Bool { sockets[id]?.life.isOpen == true }

  mutating func heard(_ id: ConnectionID) {
    sockets[id]?.life.heard(at: now)
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard isOpen(id) else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  /// Handles the alarm of a socket.
  ///
  /// One that is dropped is forgotten by the input that follows, which carries the wall clock.
  mutating func wake(_ id: ConnectionID) {
    switch sockets[id]?.life.alarm(at: now, policy.timing) {
    case nil: return
    case .unanswered: return effects.append(.drop(id))
    case .silent:
      metrics.silent += 1
      return effects.append(.drop(id))
    case .ping: effects.append(.ping(id))
    case .early: break
    }
    arm(id)
  }

  /// Sends a close frame; from then on what the socket says is ignored.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard sockets[id]?.life.close(at: now, policy.timing) == true else { return }
    effects.append(.close(id, closure))
    arm(id)
  }

  mutating func forget(_ id: ConnectionID) {
    guard let socket = sockets.removeValue(forKey: id) else { return }
    arrivals[id] = nil
    alarms.clear(.socket(id))
    let left = addresses[socket.address, default: 1] - 1
    addresses[socket.address] = left > 0 ? left : nil
  }

  mutating func arm(_ id: ConnectionID) {
    guard let life = sockets[id]?.life else { return }
    alarms.set(.socket(id), at: life.wake(policy.timing))
  }
}
