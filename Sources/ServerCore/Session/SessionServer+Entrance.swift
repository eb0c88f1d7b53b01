import LinkCore
import LinkStorage
import LinkWire

// The entrance: keys, versions, and what a client gets that was here before.
extension SessionServer {
  /// A client shows its key, or signs the challenge of its connection.
  mutating func enter(_ id: ConnectionID, _ connect: SessionConnect, _ proof: Proof) {
    guard isProven(connect, proof) else { return refuseEntrance(id) }
    guard let version = SessionVersion.negotiated(connect.version) else {
      metrics.outdated += 1
      tell(id, .error(.outdated(connect.version)))
      return close(id, .upgradeRequired)
    }
    guard admit(connect.session) else {
      fail(id, "busy", "The server remembers as many clients as it can; try again later.")
      return close(id, .tryAgainLater)
    }
    let features = connect.features.intersection(SessionFeature.allCases)
    sockets[id]?.stage = .connected(
      SessionSocket.Peer(
        client: connect.session, version: version, features: features,
        maxBytes: min(policy.usualMessageBytes, policy.maxMessageBytes)))
    metrics.connected += 1
    clients[connect.session]?.sockets.append(id)
    alarms.set(.beat(id), at: now.advanced(by: policy.heartbeat))
    let isRecovered = resume(connect)
    tell(
      id,
      .connected(
        SessionConnected(
          message: "Session registered", session: connect.session, version: version,
          features: features, received: clients[connect.session]?.kept.lastPrompt,
          isRecovered: isRecovered)))
    if !isRecovered { tellLoss(id) }
    catchUp(id, connect.session)
    closeOldest(of: connect.session)
  }

  private func isProven(_ connect: SessionConnect, _ proof: Proof) -> Bool {
    switch proof {
    case .none: return false
    case .key: return true
    case .challenge:
      guard let timestamp = connect.timestamp else { return false }
      let skew = wall.duration(to: timestamp)
      return skew <= policy.clockTolerance && skew >= .zero - policy.clockTolerance
    }
  }

  /// Says that the key is wrong or missing, and closes.
  mutating func refuseEntrance(_ id: ConnectionID) {
    metrics.unauthorized += 1
    tell(id, .authError(message: "Authentication failed"))
    close(id, .unauthorized)
  }

  /// Takes in a client, in place of one that is away the longest if there are too many.
  private mutating func admit(_ id: String) -> Bool {
    guard clients[id] == nil else {
      let seenAt = wall
      clients[id]?.kept.seenAt = seenAt
      return true
    }
    if clients.count >= policy.maxClients {
      let idle = clients.values.filter { $0.sockets.isEmpty && $0.open == 0 }
      guard
        let first = idle.min(by: {
          ($0.kept.seenAt, $0.kept.id) < ($1.kept.seenAt, $1.kept.id)
        })
      else { return false }
      forget(client: first.kept.id)
    }
    clients[id] = SessionClient(kept: StoredSessionClient(id: id, seenAt: wall))
    return true
  }

  /// Takes up to where the client stored what it was sent; returns whether nothing was lost.
  private mutating func resume(_ connect: SessionConnect) -> Bool {
    guard var client = clients[connect.session] else { return true }
    var isRecovered = true
    if let received = connect.received {
      if received > client.kept.lastNumber {
        // The client knows more than this store: new messages get numbers that it does not have.
        isRecovered = false
        client.kept.lastNumber = received
        delay(.client(client.kept))
      }
      if let lost = client.kept.lost, lost <= received { client.kept.lost = nil }
    }
    if let lost = client.kept.lost {
      isRecovered = false
      client.told = lost
    }
    clients[connect.session] = client
    guard let received = connect.received else { return isRecovered }
    for id in client.outbox {
      if let answer = turns[id]?.answer, answer.number <= received {
        take(answer.message, of: connect.session)
      }
    }
    return isRecovered
  }

  private mutating func tellLoss(_ id: ConnectionID) {
    metrics.unrecovered += 1
    fail(
      id, "not_recovered",
      "Messages that you did not acknowledge are no longer kept; read the histories instead.")
  }

  /// A client that was told of a loss goes on: it is not told again.
  mutating func noteReturn(of client: String) {
    guard let known = clients[client], let lost = known.kept.lost, lost <= known.told else {
      return
    }
    clients[client]?.kept.lost = nil
    if let kept = clients[client]?.kept { delay(.client(kept)) }
  }

  /// Sends what was not acknowledged, and what is being produced.
  private mutating func catchUp(_ id: ConnectionID, _ client: String) {
    for turn in clients[client]?.outbox ?? [] { sockets[id]?.lane.append(.replay(turn)) }
    metrics.replayed += UInt64(clients[client]?.outbox.count ?? 0)
    if (clients[client]?.open ?? 0) > 0, sockets[id]?.peer?.features.contains(.parts) == true {
      let mine = turns.values.filter { $0.client == client && $0.stage == .running }
      for turn in mine.sorted(by: { $0.id < $1.id }) { sendPart(of: turn.id, to: id) }
    }
    pump(id)
  }

  private mutating func closeOldest(of client: String) {
    guard let sockets = clients[client]?.sockets else { return }
    let open = sockets.filter { isOpen($0) }
    guard open.count > policy.socketsPerClient, let oldest = open.first else { return }
    close(oldest, .superseded)
  }
}

extension SessionError {
  /// A version that is too old.
  fileprivate static func outdated(_ version: String?) -> SessionError {
    SessionError(
      message: "This server speaks versions from \(SessionVersion.oldest) on; update the client.",
      code: unsupportedVersion, required: .oldest, received: version)
  }
}
