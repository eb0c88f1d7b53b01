import LinkCore
import LinkWire

extension RelayServer {
  mutating func heard(_ id: ConnectionID) {
    guard case .open(_, let nextPing) = sockets[id]?.phase else { return }
    // The alarm stays: it rings early, finds this, and is set anew.
    sockets[id]?.phase = .open(lastHeard: now, nextPing: nextPing)
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard case .open = sockets[id]?.phase else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  /// The alarm of a socket rang.
  mutating func wake(_ id: ConnectionID) {
    switch sockets[id]?.phase {
    case nil: return
    case .closing: effects.append(.drop(id))
    case .open(let lastHeard, let nextPing):
      if now >= lastHeard.advanced(by: policy.pongWait) {
        metrics.silent += 1
        // Told as gone by whoever drops it, with the wall clock that this needs.
        effects.append(.drop(id))
        return
      }
      if now >= nextPing {
        effects.append(.ping(id))
        sockets[id]?.phase = .open(
          lastHeard: lastHeard, nextPing: now.advanced(by: policy.pingInterval))
      }
      arm(id)
    }
  }

  /// Sends a close frame; from then on nothing the socket says counts.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard case .open = sockets[id]?.phase else { return }
    sockets[id]?.phase = .closing(dropAt: now.advanced(by: policy.closeWait))
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
    switch sockets[id]?.phase {
    case nil: return
    case .closing(let dropAt): alarms.set(.socket(id), at: dropAt)
    case .open(let lastHeard, let nextPing):
      alarms.set(.socket(id), at: min(nextPing, lastHeard.advanced(by: policy.pongWait)))
    }
  }
}
