#if os(Linux)
  import HoldfastCore
  import HoldfastBottleData
  import HoldfastLinuxDevice

  // Tickets and connections.
  extension BlueZRadio {
    /// A peripheral that has tickets, or that is being disconnected.
    struct Peer: Sendable, Hashable {
      /// The tickets, oldest first.
      var tickets: [Ticket] = []
      var phase = Phase.idle
      var retry = ConnectRetry()
      /// The paths of the characteristics that were subscribed to during this connection.
      var subscribed: Set<String> = []
      /// Whether BlueZ has removed one of them during this connection.
      var hasLostParts = false
      /// Whether BlueZ has stored incorrect services for the peripheral.
      var isSuspect = false

      /// The next time at which the peripheral must be handled.
      var due: Instant? {
        let rests = phase == .idle ? tickets.compactMap(\.restsUntil) : []
        return ([phase.due] + rests).compactMap(\.self).min()
      }
    }

    struct Ticket: Sendable, Hashable {
      let attempt: AttemptID
      let isQueued: Bool
      /// The time before which the ticket does not start a connect. BlueZ may connect a stored
      /// device earlier.
      var restsUntil: Instant?
    }

    enum Phase: Sendable, Hashable {
      case idle
      case connecting(CallID, due: Instant)
      /// The peripheral is being disconnected after a failure. A pause follows.
      case clearing(CallID, due: Instant, isAnswered: Bool, pause: Duration)
      case pausing(Instant)
      case open
      case closing(CallID, due: Instant, isAnswered: Bool)

      var due: Instant? {
        switch self {
        case .idle, .open: nil
        case .connecting(_, let due), .clearing(_, let due, _, _), .pausing(let due),
          .closing(_, let due, _):
          due
        }
      }

      /// Whether a standby waits for the peripheral.
      var waits: Bool { self == .idle }

      var isConnecting: Bool {
        switch self {
        case .connecting, .clearing: true
        case .idle, .pausing, .open, .closing: false
        }
      }

      /// Whether BlueZ uses, or may be using, the peripheral.
      var isBusy: Bool {
        switch self {
        case .connecting, .clearing, .open, .closing: true
        case .idle, .pausing: false
        }
      }
    }

    mutating func connect(_ id: PeripheralID, _ ticket: Ticket, _ step: inout Step) {
      guard isOn, !peers.values.contains(where: { $0.holds(ticket.attempt) }) else { return }
      peers[id, default: Peer()].tickets.append(ticket)
      if peers[id]?.phase == .open {
        step.effects.append(.report(.connected(ticket.attempt)))
      } else {
        if case .pausing = peers[id]?.phase, !ticket.isQueued { peers[id]?.phase = .idle }
        connectIfIdle(id, isDetected: isInRange(id), &step)
      }
    }

    mutating func cancel(_ attempt: AttemptID, _ step: inout Step) {
      guard let (id, peer) = peers.first(where: { $0.value.holds(attempt) }) else { return }
      peers[id]?.tickets.removeAll { $0.attempt == attempt }
      fail(.reset, &step) { $0.attempt == attempt }
      guard peer.tickets.count == 1 else { return }
      switch peer.phase {
      case .idle, .pausing: peers[id] = nil
      case .clearing(let call, let due, let isAnswered, _):
        peers[id]?.phase = .closing(call, due: due, isAnswered: isAnswered)
      case .connecting, .open: leave(id, &step)
      case .closing: return
      }
    }

    /// Disconnects a peripheral. This also cancels a connect that is in progress.
    ///
    /// If BlueZ has stored incorrect services for the device, the device is removed instead. This
    /// also disconnects it.
    mutating func leave(_ id: PeripheralID, _ step: inout Step) {
      guard let device = device(id) else { return left(id, &step) }
      let isPaired = objects[device, BlueZName.device, "Paired"]?.boolean == true
      let removes = peers[id]?.isSuspect == true && !isPaired
      let call = call(clearing(device, removes: removes), for: .clear(id), &step)
      peers[id]?.isSuspect = false
      peers[id]?.forgetParts()
      peers[id]?.phase = .closing(
        call, due: step.now.advanced(by: ConnectRetry.clearing), isAnswered: false)
    }

    /// Connects an idle peripheral if one of its tickets allows it now.
    ///
    /// - Parameter isDetected: Whether the peripheral is currently advertising. A queued ticket
    ///   connects only if it is.
    mutating func connectIfIdle(_ id: PeripheralID, isDetected: Bool, _ step: inout Step) {
      guard isOn, let peer = peers[id], peer.phase == .idle, !peer.tickets.isEmpty,
        let device = device(id)
      else { return }
      if objects[device, BlueZName.device, "Connected"]?.boolean == true {
        opened(id, &step)
        return
      }
      let awake = peer.tickets.filter { $0.restsUntil == nil }
      guard awake.contains(where: { isDetected || !$0.isQueued }) else { return }
      let call = call(BusMember(device, BlueZName.device, "Connect"), for: .connect(id), &step)
      peers[id]?.phase = .connecting(call, due: step.now.advanced(by: ConnectRetry.limit))
    }

    /// Handles the end of a connect. It was successful if `fault` is `nil`.
    mutating func connectEnded(
      _ id: PeripheralID, _ call: CallID, _ fault: ConnectFault?, _ step: inout Step
    ) {
      guard case .connecting(call, _)? = peers[id]?.phase else { return }
      if let fault { connectFailed(id, fault, &step) } else { opened(id, &step) }
    }

    private mutating func opened(_ id: PeripheralID, _ step: inout Step) {
      guard var peer = peers[id] else { return }
      (peer.phase, peer.retry) = (.open, ConnectRetry())
      peer.forgetParts()
      peers[id] = peer
      for ticket in peer.tickets { step.effects.append(.report(.connected(ticket.attempt))) }
      trust(id, &step)
    }

    /// Marks a connected device as trusted. BlueZ then reconnects it by itself, even after a
    /// disconnect.
    private mutating func trust(_ id: PeripheralID, _ step: inout Step) {
      guard hasProfile, let device = device(id),
        objects[device, BlueZName.device, "Trusted"]?.boolean != true
      else { return }
      call(
        BusMember(
          device, BlueZName.properties, "Set",
          [.text(BlueZName.device), .text("Trusted"), .variant(.boolean(true))]), for: .nothing,
        &step)
    }

    /// Handles the registration of the profile with BlueZ.
    mutating func registered(_ step: inout Step) {
      hasProfile = true
      for (id, peer) in peers where peer.phase == .open { trust(id, &step) }
    }

    private mutating func connectFailed(
      _ id: PeripheralID, _ fault: ConnectFault, _ step: inout Step
    ) {
      let device = device(id)
      let isBonded =
        device.flatMap { objects[$0, BlueZName.device, "Paired"]?.boolean } ?? false
      let outcome = peers[id]?.retry.next(after: fault, isBonded: isBonded) ?? .giveUp
      var (pause, removes) = (ConnectRetry.floor, false)
      switch outcome {
      case .again(let after, let isStuck): (pause, removes) = (after, isStuck)
      case .giveUp: giveUp(id, fault, &step)
      }
      guard let device else {
        peers[id]?.phase = .pausing(step.now.advanced(by: pause))
        return
      }
      let call = call(clearing(device, removes: removes), for: .clear(id), &step)
      peers[id]?.phase = .clearing(
        call, due: step.now.advanced(by: ConnectRetry.clearing), isAnswered: false, pause: pause)
    }

    private func clearing(_ device: String, removes: Bool) -> BusMember {
      guard removes, let adapter else { return BusMember(device, BlueZName.device, "Disconnect") }
      return BusMember(adapter, BlueZName.adapter, "RemoveDevice", [.path(device)])
    }

    /// Fails the tickets that are not queued. A standby serves the queued ones.
    private mutating func giveUp(_ id: PeripheralID, _ fault: ConnectFault, _ step: inout Step) {
      for ticket in peers[id]?.tickets ?? [] where !ticket.isQueued {
        step.effects.append(.report(.failed(ticket.attempt, fault.failure)))
      }
      peers[id]?.tickets.removeAll { !$0.isQueued }
      peers[id]?.retry = ConnectRetry()
    }

    /// Handles BlueZ's reply to a disconnect or a removal.
    mutating func cleared(_ id: PeripheralID, _ call: CallID, _ step: inout Step) {
      switch peers[id]?.phase {
      case .clearing(call, let due, _, let pause):
        peers[id]?.phase = .clearing(call, due: due, isAnswered: true, pause: pause)
      case .closing(call, let due, _):
        peers[id]?.phase = .closing(call, due: due, isAnswered: true)
      case .idle, .connecting, .clearing, .pausing, .open, .closing, nil: return
      }
      leftIfDone(id, &step)
    }

    private mutating func leftIfDone(_ id: PeripheralID, _ step: inout Step) {
      let isConnected =
        device(id).flatMap { objects[$0, BlueZName.device, "Connected"]?.boolean } ?? false
      switch peers[id]?.phase {
      case .clearing(_, _, true, let pause) where !isConnected: rest(id, pause, &step)
      case .closing(_, _, true) where !isConnected: left(id, &step)
      case .idle, .connecting, .clearing, .pausing, .open, .closing, nil: return
      }
    }

    private mutating func rest(_ id: PeripheralID, _ pause: Duration, _ step: inout Step) {
      guard peers[id]?.tickets.isEmpty == false else {
        peers[id] = nil
        return
      }
      peers[id]?.phase = .pausing(step.now.advanced(by: pause))
    }

    /// Handles the end of a connection. Removes the peripheral, or connects again if there are
    /// newer tickets.
    mutating func left(_ id: PeripheralID, _ step: inout Step) {
      guard peers[id]?.tickets.isEmpty == false else {
        peers[id] = nil
        return
      }
      peers[id]?.phase = .idle
      connectIfIdle(id, isDetected: false, &step)
    }

    mutating func connectedChanged(_ path: String, _ isConnected: Bool, _ step: inout Step) {
      guard let id = id(ofDevice: path), let peer = peers[id] else {
        // BlueZ connected the device by itself before a ticket requested it.
        if isConnected { reportIfScanned(path, &step) }
        return
      }
      switch peer.phase {
      case .open: if !isConnected { lost(id, .reset, &step) }
      case .idle, .pausing: if isConnected { opened(id, &step) }
      case .clearing, .closing: leftIfDone(id, &step)
      case .connecting: return  // The reply follows.
      }
    }

    /// Handles the loss of a connection. This also ends its tickets.
    mutating func lost(_ id: PeripheralID, _ failure: LinkFailure, _ step: inout Step) {
      let tickets = peers[id]?.tickets ?? []
      fail(failure, &step) { $0.peer == id }
      peers[id]?.tickets = []
      peers[id]?.forgetParts()
      for ticket in tickets {
        step.effects.append(.report(.disconnected(ticket.attempt, failure)))
      }
      left(id, &step)
    }

    /// Handles the removal of a device's object. This also ends its connection.
    mutating func deviceRemoved(_ id: PeripheralID, _ step: inout Step) {
      switch peers[id]?.phase {
      case .open: lost(id, .reset, &step)
      case .connecting: connectFailed(id, .gone, &step)
      case .clearing(_, _, _, let pause): rest(id, pause, &step)
      case .closing: left(id, &step)
      case .idle, .pausing, nil: return
      }
    }

    /// Connects a peripheral if the rest period of one of its tickets has ended.
    private mutating func endRest(of id: PeripheralID, _ step: inout Step) {
      var isOver = false
      for index in peers[id]?.tickets.indices ?? 0..<0 {
        guard let until = peers[id]?.tickets[index].restsUntil, until <= step.now else { continue }
        peers[id]?.tickets[index].restsUntil = nil
        isOver = true
      }
      if isOver { connectIfIdle(id, isDetected: isInRange(id), &step) }
    }

    /// Returns whether the running discovery has found the peripheral. BlueZ reports it only once.
    private func isInRange(_ id: PeripheralID) -> Bool {
      device(id).flatMap { objects[$0, BlueZName.device, "RSSI"] } != nil
    }

    mutating func peerIsDue(_ id: PeripheralID, _ step: inout Step) {
      endRest(of: id, &step)
      guard let phase = peers[id]?.phase, let due = phase.due, due <= step.now else { return }
      switch phase {
      case .connecting: connectFailed(id, .timeout, &step)
      case .clearing(_, _, _, let pause): rest(id, pause, &step)
      case .closing: left(id, &step)
      case .pausing:
        peers[id]?.phase = .idle
        // The peripheral was reachable when it failed, so a queued ticket also retries while the
        // pauses are short.
        connectIfIdle(id, isDetected: peers[id]?.retry != ConnectRetry(), &step)
      case .idle, .open: return
      }
    }
  }

  extension BlueZRadio.Peer {
    func holds(_ attempt: AttemptID) -> Bool { tickets.contains { $0.attempt == attempt } }

    /// Discards the subscriptions, which are valid only for one connection.
    mutating func forgetParts() { (subscribed, hasLostParts) = ([], false) }
  }
#endif
