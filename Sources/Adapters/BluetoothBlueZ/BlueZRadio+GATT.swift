#if os(Linux)
  import LinkCore
  import LinkWire
  import LinuxBus

  // Requests to a peripheral that is connected.
  extension BlueZRadio {
    /// A request that is not answered yet.
    struct Pending: Sendable, Hashable {
      let attempt: AttemptID
      let peer: PeripheralID
      let request: Request
      /// The end of its time.
      let limit: Instant
      /// When it is looked at again, if that is before its limit.
      var againAt: Instant?
      var tries = 0
      /// Whether a subscription of an earlier run is being ended first.
      var isStopping = false

      var due: Instant { min(limit, againAt ?? limit) }
    }

    /// How often services that BlueZ said are all there are looked for again, and the pause.
    static let rechecks = 3
    static let recheckPause = Duration.milliseconds(250)
    /// The same for a request while another one goes on; BlueZ tells no end of that.
    static let busyTries = 100
    static let busyPause = Duration.milliseconds(50)

    mutating func ask(
      _ id: RequestID, _ attempt: AttemptID, _ request: Request, _ step: inout Step
    ) {
      guard let (peer, _) = peers.first(where: { $0.value.holds(attempt) }),
        peers[peer]?.phase == .open
      else {
        step.effects.append(.answer(id, .failure(.reset)))
        return
      }
      let isDiscovery = if case .discover = request { true } else { false }
      let limit = step.now.advanced(by: isDiscovery ? Self.discoveryLimit : Self.requestLimit)
      requests[id] = Pending(attempt: attempt, peer: peer, request: request, limit: limit)
      if isDiscovery { verify(id, &step) } else { send(id, &step) }
    }

    /// Ends requests.
    mutating func fail(
      _ failure: LinkFailure, _ step: inout Step, _ isMeant: (Pending) -> Bool
    ) {
      for (id, pending) in requests.sorted(by: { $0.key < $1.key }) where isMeant(pending) {
        end(id, .failure(failure), &step)
      }
    }

    private mutating func end(
      _ id: RequestID, _ result: Result<[UInt8], LinkFailure>, _ step: inout Step
    ) {
      guard requests.removeValue(forKey: id) != nil else { return }
      step.effects.append(.answer(id, result))
    }

    // MARK: services

    /// Verifies what waits for the services of a device, by its path or that of a part.
    mutating func verifyAll(below path: String, _ step: inout Step) {
      for (id, pending) in requests.sorted(by: { $0.key < $1.key }) {
        guard case .discover = pending.request, let device = device(pending.peer),
          path == device || path.hasPrefix(device + "/"), pending.againAt != nil || path == device
        else { continue }
        verify(id, &step)
      }
    }

    /// Ends a discovery whose objects are all there.
    ///
    /// BlueZ can say that services are resolved before it has exported their objects (bluez 1489).
    private mutating func verify(_ id: RequestID, _ step: inout Step) {
      guard let pending = requests[id], case .discover(let service, let parts) = pending.request,
        let device = device(pending.peer),
        objects[device, BlueZName.device, "ServicesResolved"]?.boolean == true
      else { return }
      let isWhole =
        objects.service(service, of: device) != nil
        && parts.allSatisfy { objects.characteristic($0, of: device) != nil }
      if isWhole { return end(id, .success([]), &step) }
      requests[id]?.againAt = step.now.advanced(by: Self.recheckPause)
    }

    /// BlueZ listed its objects again.
    mutating func rechecked(_ id: RequestID, _ values: [BusData], _ step: inout Step) {
      for (path, interfaces) in values.first?.objects ?? [:] { objects.add(path, interfaces) }
      guard let pending = requests[id] else { return }
      verify(id, &step)
      guard requests[id] != nil, pending.tries >= Self.rechecks else { return }
      peers[pending.peer]?.isSuspect = true
      end(
        id, .failure(.protocolError(detail: "the bottle lacks a service or characteristic")), &step)
    }

    // MARK: values

    private mutating func send(_ id: RequestID, _ step: inout Step) {
      guard let pending = requests[id], let device = device(pending.peer) else {
        return end(id, .failure(.reset), &step)
      }
      let (characteristic, name, arguments): (GATTID, String, [BusData])
      switch pending.request {
      case .discover: return
      case .notify(let characteristicID):
        let verb = pending.isStopping ? "StopNotify" : "StartNotify"
        (characteristic, name, arguments) = (characteristicID, verb, [])
      case .read(let characteristicID):
        (characteristic, name) = (characteristicID, "ReadValue")
        arguments = [.properties([:])]
      case .write(let characteristicID, let bytes):
        (characteristic, name) = (characteristicID, "WriteValue")
        arguments = [.bytes(bytes), .properties(["type": .text("request")])]
      }
      guard let path = objects.characteristic(characteristic, of: device) else {
        return end(
          id, .failure(.protocolError(detail: "the bottle lacks a characteristic")), &step)
      }
      requests[id]?.againAt = nil
      if name == "StartNotify" { peers[pending.peer]?.subscribed.insert(path) }
      call(BusMember(path, BlueZName.characteristic, name, arguments), for: .request(id), &step)
    }

    mutating func requestEnded(_ id: RequestID, _ values: [BusData], _ step: inout Step) {
      guard let pending = requests[id] else { return }
      if pending.isStopping {
        requests[id]?.isStopping = false
        return send(id, &step)
      }
      end(id, .success(values.first?.bytes ?? []), &step)
    }

    mutating func requestRefused(_ id: RequestID, _ refusal: BusRefusal, _ step: inout Step) {
      guard var pending = requests[id] else { return }
      pending.tries += 1
      let isNotify = if case .notify = pending.request { true } else { false }
      switch refusal.name {
      case _ where pending.isStopping:
        pending.isStopping = false
        requests[id] = pending
        send(id, &step)
      // A subscription of before this connection, which BlueZ has renewed by itself.
      case "org.bluez.Error.InProgress" where isNotify && pending.tries == 1:
        pending.isStopping = true
        requests[id] = pending
        send(id, &step)
      case "org.bluez.Error.InProgress" where pending.tries < Self.busyTries:
        pending.againAt = step.now.advanced(by: Self.busyPause)
        requests[id] = pending
      case "org.bluez.Error.NotConnected": end(id, .failure(.reset), &step)
      case _: end(id, .failure(.protocolError(detail: refusal.description)), &step)
      }
    }

    mutating func requestIsDue(_ id: RequestID, _ step: inout Step) {
      guard let pending = requests[id], pending.due <= step.now else { return }
      guard pending.limit > step.now else { return late(pending, &step) }
      guard case .discover = pending.request else { return send(id, &step) }
      requests[id]?.againAt = nil
      requests[id]?.tries += 1
      call(BusMember("/", BlueZName.manager, "GetManagedObjects"), for: .recheck(id), &step)
    }

    /// A peripheral that does not answer ends its connection, as GATT demands.
    private mutating func late(_ pending: Pending, _ step: inout Step) {
      let isDiscovery = if case .discover = pending.request { true } else { false }
      let failure = LinkFailure.timeout(isDiscovery ? .establish : .response)
      let tickets = peers[pending.peer]?.tickets ?? []
      fail(failure, &step) { $0.peer == pending.peer }
      peers[pending.peer]?.tickets = []
      leave(pending.peer, &step)
      for ticket in tickets {
        step.effects.append(.tell(.disconnected(ticket.attempt, failure)))
      }
    }

    mutating func valueChanged(_ path: String, _ value: [UInt8], _ step: inout Step) {
      let found = peers.values.first { $0.phase == .open && $0.subscribed.contains(path) }
      guard let attempt = found?.tickets.first?.attempt,
        let id = objects[path, BlueZName.characteristic, "UUID"]?.text.flatMap({ GATTID($0) })
      else { return }
      step.effects.append(.tell(.value(attempt, id, value)))
    }

    /// The longest value of a notification: the MTU, told since BlueZ 5.62, without its head.
    func longestValue(of attempt: AttemptID) -> Int {
      guard let (id, _) = peers.first(where: { $0.value.holds(attempt) }), let device = device(id)
      else { return 20 }
      let sizes = objects.all.compactMap { path, interfaces in
        path.hasPrefix(device + "/") ? interfaces[BlueZName.characteristic]?["MTU"]?.word : nil
      }
      return max(Int(sizes.max() ?? 23) - 3, 20)
    }
  }
#endif
