import LinkCore
import LinkServerCore
import LinkWire
import Session

// Guests: clients that are scripts, and reach the server without a line of the kernel.
extension SessionWorld {
  /// The connections of guests have numbers beyond those of lines.
  private static let firstGuest: UInt64 = 1 << 40

  /// A guest comes; one who shows an old proof saw an earlier challenge.
  mutating func welcome(_ kind: SessionGuest.Kind) {
    guard kernel.hosts[server.place].isRunning, !isCalm else { return }
    backend.lastGuest += 1
    backend.challenges += 1
    let id = ConnectionID(Self.firstGuest + backend.lastGuest)
    var guest = SessionGuest(kind, number: backend.lastGuest)
    guest.challenge = UUID128(high: 0xCA11, low: backend.challenges).description
    guest.oldChallenge = UUID128(high: 0xCA11, low: backend.challenges - 1).description
    backend.guests[id] = guest
    let arrival = SessionServer.Arrival(address: "guests", challenge: guest.challenge)
    feed(.opened(id, arrival, wall: wall(server)))
  }

  /// Takes what the server asks for on the connection of a guest; false for any other effect.
  mutating func isForGuest(_ effect: SessionServer.Effect) -> Bool {
    guard let id = effect.connection, id.number > Self.firstGuest else { return false }
    switch effect {
    case .accept: later(id)
    case .send(_, let message): guestHears(message, id)
    case .noticeDrain: kernel.later(.drained(id), on: server, after: .milliseconds(1))
    case .ping:
      if backend.guests[id]?.answers == true { feedLater(id) }
    case .close: kernel.later(.guestLeaves(id), on: server, after: .milliseconds(50))
    case .drop: kernel.later(.guestLeaves(id), on: server, after: .zero)
    case .refuse: backend.guests[id] = nil
    case .run, .cancel, .store, .finished: return false
    }
    return true
  }

  private mutating func later(_ id: ConnectionID, after wait: Duration = .milliseconds(100)) {
    kernel.later(.steps(id), on: server, after: wait)
  }

  /// A pong comes back: nothing but a sign of life.
  private mutating func feedLater(_ id: ConnectionID) {
    kernel.later(.hears(id, []), on: server, after: .milliseconds(10))
  }

  /// Bytes of a guest are at the server.
  mutating func guestSpoke(_ bytes: [UInt8], _ id: ConnectionID) {
    guard backend.guests[id] != nil else { return }
    feed(.heard(id))
    guard !bytes.isEmpty else { return }
    hear(bytes, nil, from: id)
  }

  mutating func guestLeaves(_ id: ConnectionID) {
    guard backend.guests.removeValue(forKey: id) != nil else { return }
    feed(.gone(id, wall: wall(server)))
  }

  private mutating func guestHears(_ message: SessionServerMessage, _ id: ConnectionID) {
    let bytes = message.bytes
    backend.ledger.weigh(message, bytes.count, id)
    do { compare(try SessionServerMessage.read(bytes), message) } catch {
      note(.broken(.misread, detail: "\(message) cannot be read: \(error)"))
    }
    guard backend.guests[id]?.answers == true, backend.guests[id]?.kind != .plain else { return }
    switch message {
    case .response(let response):
      guard let message = response.id else { return }
      let ack = SessionClientMessage.messageAck(message)
      kernel.later(.hears(id, ack.bytes), on: server, after: .milliseconds(30))
    case .hello, .connected, .pong, .ack, .responsePart, .error, .authError, .replay,
      .turnComplete, .history, .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      return
    }
  }

  /// A guest does what its script has next.
  mutating func step(_ id: ConnectionID) {
    guard var guest = backend.guests[id] else { return }
    guard !guest.steps.isEmpty else { return guestLeaves(id) }
    let next = guest.steps.removeFirst()
    backend.guests[id] = guest
    switch next {
    case .say(let message): say(message, id)
    case .write(let text): guestSpoke(Array(text.utf8), id)
    case .enter(let entrance): say(.connect(connect(guest, entrance)), id)
    case .wait(let time): return later(id, after: time)
    case .read: feed(.overflowed(id))
    case .take: takeAnother(id)
    }
    later(id)
  }

  /// A guest acknowledges what waits for others.
  private mutating func takeAnother(_ id: ConnectionID) {
    for prompt in backend.kept.prompts.values.sorted(by: { $0.id < $1.id }) {
      guard case .ended(let answer) = prompt.stage, !answer.isTaken else { continue }
      say(.messageAck(answer.message), id)
    }
  }

  private mutating func say(_ message: SessionClientMessage, _ id: ConnectionID) {
    feed(.heard(id))
    hear(message.bytes, message, from: id)
  }

  private func connect(
    _ guest: SessionGuest, _ entrance: SessionGuest.Entrance
  ) -> SessionConnect {
    var connect = SessionConnect(session: guest.name, features: guest.features)
    if guest.kind == .oldReader { connect.version = "0.4.7" }
    switch entrance {
    case .key(let key, let version):
      (connect.key, connect.version) = (Secret(key), version)
      connect.recentSessionsLimit = 5
    case .proof(let time):
      connect.timestamp = wall(server).advanced(by: time)
      connect.proof = Secret(connect.signedText(guest.challenge))
    case .oldProof:
      connect.timestamp = wall(server)
      connect.proof = Secret(connect.signedText(guest.oldChallenge))
    }
    return connect
  }
}

extension SessionServer.Effect {
  /// The connection that it is about.
  fileprivate var connection: ConnectionID? {
    switch self {
    case .accept(let id), .refuse(let id, _), .send(let id, _), .noticeDrain(let id), .ping(let id),
      .close(let id, _), .drop(let id):
      id
    case .run, .cancel, .store, .finished: nil
    }
  }
}
